//! A page in a headless browser. A probe presses all buttons and reports what it finds.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const BROWSERS: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const QUIET: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
];

/// The first browser in the search path.
fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let all = BROWSERS.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.into_iter().find(|program| program.is_file())
}

/// The report of the probe after it has used `page` in a window of this width; `None` if there is no browser.
pub fn used(test: &str, page: &str, width: u32) -> Option<Value> {
    let Some(browser) = browser() else {
        println!("skipped: {test} (no Chromium in PATH; to get it: sudo apt install chromium)");
        return None;
    };
    let folder =
        std::env::temp_dir().join(format!("slotline-report-{}-{test}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("report.html");
    std::fs::write(&file, with_probe(page)).unwrap();
    let dumped = dump(&browser, &folder, &file, width);
    std::fs::remove_dir_all(&folder).unwrap();
    let (_, rest) = dumped.split_once("<pre id=\"seen\">").expect("the probe ran to its end");
    let json = rest.split("</pre>").next().unwrap();
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&nbsp;", " "), ("&amp;", "&")];
    let json = pairs.iter().fold(json.to_string(), |text, (from, to)| text.replace(from, to));
    Some(serde_json::from_str(&json).unwrap())
}

fn with_probe(page: &str) -> String {
    let watch = "<script>window.faults = [];\
        window.addEventListener('error', e => window.faults.push(e.message));\
        for (const kind of ['error', 'warn']) console[kind] = (...words) => window.faults.push(words.join(' '));\
        </script></head>";
    let probe = format!("<script>{{\n{}}}\n</script></body>", include_str!("probe.js"));
    page.replacen("</head>", watch, 1).replacen("</body>", &probe, 1)
}

fn dump(browser: &Path, folder: &Path, file: &Path, width: u32) -> String {
    let out = Command::new(browser)
        .args(QUIET)
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("--window-size={width},900"))
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("a browser that starts");
    String::from_utf8_lossy(&out.stdout).into_owned()
}

pub fn strings(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The arrow keys show values, a different one for each key, and Escape hides them.
pub fn check_keys(id: &str, plot: &Value) {
    let shown = strings(&plot["keys"]);
    assert!(shown.iter().all(|text| text.len() > 3), "{id}: {shown:?}");
    assert!(shown.iter().any(|text| *text != shown[0]), "{id}: {shown:?}");
    assert_eq!(plot["escaped"], true, "{id}");
}

/// The page with a body of 360 pixels.
pub fn narrow(page: &str) -> String {
    page.replacen("</style>", "html { width: 360px; }\n</style>", 1)
}
