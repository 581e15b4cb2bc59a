use crate::common::*;
#[test]
fn probe() {
  for extra in ["", ", delayed-ack = \"1ms\"", ", delayed-ack = \"1ms\", initial-window=2", ", delayed-ack = \"1ms\", headers=\"52B\"", ", max-window=\"130KB\"", ", delayed-ack=\"1ms\", max-window=\"130KB\""] {
    for t in ["newreno","cubic","dctcp"] {
    let queue = match t {
        "dctcp" => r#"{ kind = "ecn", limit = "150KB", threshold = "22.5KB" }"#,
        _ => r#"{ kind = "drop-tail", limit = "150KB" }"#,
    };
        let text = format!(r#"
        name = "peers"
        repeat = 20
        end = {{ at = "5s" }}
        measure = {{ ideal = false }}
        fabric = {{ kind = "fat-tree", k = 8 }}
        workload = [{{ kind = "trace", file = "incast16.cm" }}]
        [[scheme]]
        name = "peer"
        queue = {queue}
        transport = {{ kind = "{t}", framing = "0B", min-rto = "10ms" {extra} }}
        "#);
        let rs = records(&text,2);
        let m: Vec<f64> = rs.iter().map(mean_fct_ms).collect();
        let to: u32 = rs.iter().flat_map(|r| r.flows.iter().map(|f| f.timeouts)).sum();
        println!("{t} {extra}: mean {:.2} timeouts/flow {:.2} {:.1?}", mean(m.iter().copied()), to as f64/ (16.0*rs.len() as f64), m);
    }
  }
}
