//! Blocks of code: commands and comments stand out.

/// `code` in `language` as HTML.
pub fn highlight(language: &str, code: &str) -> String {
    code.lines().map(|line| highlighted(language, line) + "\n").collect()
}

fn highlighted(language: &str, line: &str) -> String {
    match language {
        "console" => match line.strip_prefix("$ ") {
            Some(command) => format!("<span class=\"p\">$ </span><b>{}</b>", escape(command)),
            None => escape(line),
        },
        "toml" | "sh" => comment(line, "#"),
        "rust" => comment(line, "//"),
        _ => escape(line),
    }
}

/// A comment that starts the line, or stands behind it after two blanks.
fn comment(line: &str, mark: &str) -> String {
    let starts = line.trim_start().starts_with(mark).then(|| line.len() - line.trim_start().len());
    let follows = || line.find(&format!("  {mark}")).map(|at| at + 2);
    match starts.or_else(follows) {
        Some(at) => format!("{}<i>{}</i>", escape(&line[..at]), escape(&line[at..])),
        None => escape(line),
    }
}

/// `text` as it stands in HTML, also within quotes.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_comments_stand_out() {
        let console = highlight("console", "$ a \"b\"\n<c>\n");
        assert_eq!(console, "<span class=\"p\">$ </span><b>a &quot;b&quot;</b>\n&lt;c&gt;\n");
        assert_eq!(highlight("toml", "a = '#1'  # one"), "a = '#1'  <i># one</i>\n");
        assert_eq!(highlight("rust", "  /// x"), "  <i>/// x</i>\n");
        assert_eq!(highlight("text", "# x"), "# x\n");
    }
}
