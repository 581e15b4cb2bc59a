//! The page of a daemon in a headless browser. Without a browser, the test says so and passes.

use slotline_live::http::{Answer, EVENTS, HttpSocket};
use slotline_live::running::Running;
use std::process::Command;
use std::time::Duration;

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
const PAGE: &str = include_str!("../../src/page.html");
/// The browser shows what it has when this picture has come, or not.
const LATE: &str = "<img src=\"late\" alt=\"\">";
const STATUS: &str = r#"{"status":{"drained":false,"packets":41,"queues":{"10.0.0.1":1500},
    "counters":{"slots_used":7}},"unready":null}"#;

fn answer(path: &str) -> Answer {
    let body = |kind, body: String| Answer { code: 200, kind, body };
    match path {
        "/" => body(
            "text/html; charset=utf-8",
            PAGE.replacen("<script>", &format!("{LATE}<script>"), 1),
        ),
        "/events" => body(EVENTS, STATUS.replace('\n', " ")),
        _ => {
            std::thread::sleep(Duration::from_secs(3));
            Answer::text(404, "no picture")
        }
    }
}

/// The page at `url` as the browser has it in the end; `None` if there is no browser.
fn shown(url: &str) -> Option<String> {
    let profile = std::env::temp_dir().join(format!("slotline-page-{}", std::process::id()));
    let dump = |browser: &&str| {
        let mut command = Command::new(browser);
        command.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--dump-dom",
        ]);
        command.arg(format!("--user-data-dir={}", profile.display())).arg(url).output().ok()
    };
    let output = BROWSERS.iter().find_map(dump);
    let _ = std::fs::remove_dir_all(&profile);
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_page_shows_the_status_as_it_comes() {
    let socket = HttpSocket::open("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}/", socket.address().unwrap());
    let running = Running::default();
    let page = std::thread::scope(|scope| {
        scope.spawn(|| socket.serve(&running, answer));
        let page = shown(&url);
        running.stop();
        page
    });
    let Some(page) = page else {
        println!("skipped: no Chromium in PATH; to get it: sudo apt install chromium");
        return;
    };
    for text in
        ["Ready.", "<td>packets</td><td>41</td>", "bytes to 10.0.0.1</td><td>1,500", "slots used"]
    {
        assert!(page.contains(text), "no {text:?} in {page}");
    }
    assert!(page.contains("<polyline"), "two events make a line: {page}");
}
