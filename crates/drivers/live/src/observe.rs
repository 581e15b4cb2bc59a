//! Answers to HTTP requests about a daemon.

use crate::http::{Answer, EVENTS};
use crate::status::{Shared, Status};

/// The page for browsers. It uses no other files.
const PAGE: &str = include_str!("page.html");

/// The answer to an HTTP request.
pub fn answer<T: Status>(shared: &Shared<T>, path: &str) -> Answer {
    let body = |kind, body| Answer { code: 200, kind, body };
    match path {
        "/" => body("text/html; charset=utf-8", PAGE.into()),
        "/events" => body(EVENTS, event(shared)),
        "/status" => body("application/json", shared.json()),
        "/metrics" => {
            let text = shared.latest().map_or_else(|| "# EOF\n".into(), |status| status.metrics());
            body("application/openmetrics-text; version=1.0.0; charset=utf-8", text)
        }
        "/livez" if shared.is_alive() => Answer::text(200, "alive"),
        "/livez" => Answer::text(503, "the daemon has not updated its status for two seconds"),
        "/readyz" => match shared.latest().map(|status| status.unready()) {
            Some(None) => Answer::text(200, "ready"),
            Some(Some(why)) => Answer::text(503, &why),
            None => Answer::text(503, "it is starting"),
        },
        _ => Answer::text(404, "there are /, /events, /status, /metrics, /livez and /readyz"),
    }
}

/// What the page shows: the status, and why the daemon is not ready.
fn event<T: Status>(shared: &Shared<T>) -> String {
    let latest = shared.latest();
    let unready = latest.as_ref().map_or(Some("it is starting".into()), Status::unready);
    serde_json::json!({ "status": latest, "unready": unready }).to_string()
}
