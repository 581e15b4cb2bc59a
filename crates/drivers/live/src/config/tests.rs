use super::*;
use slotline_net::time::Time;
use slotline_net::units::Rate;

const TEXT: &str = "
    scenario = 'fabric.toml'
    key = 'h0.key'
    network = ['10.1.0.0/24']
    arbiter = [{ address = '10.1.0.100', key = 'hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=' }]
    host = [{ name = 'h0', address = ['10.1.0.1'], key = '3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=' }]
    [agent]
    silence = '60ms'
";

fn parsed(text: &str) -> Result<Config, String> {
    Config::parse(text, Path::new("net.toml")).map_err(|error| error.to_string())
}

#[test]
fn defaults_are_filled_in() {
    let config = parsed(TEXT).unwrap();
    assert_eq!((config.port, config.agent.silence), (7_077, Time::ms(60)));
    assert_eq!(config.agent.retry, Time::ms(500));
    assert_eq!(config.socket(config.arbiter[0].address).to_string(), "10.1.0.100:7077");
}

#[test]
fn errors_name_the_place() {
    let error = |from: &str, to: &str| parsed(&TEXT.replace(from, to)).unwrap_err();
    let unknown = error("silence", "silense");
    assert!(unknown.contains("net.toml") && unknown.contains("line 8"), "{unknown}");
    let gate = error("[agent]", "[agent]\ngate = 'tun'");
    assert!(gate.contains("`auto`, `queue`, `packet`"), "{gate}");
    assert!(error("'60ms'", "'60'").contains("silence"), "{}", error("'60ms'", "'60'"));
    assert!(error("3p7bfXt9", "3p7b").contains("line 6"), "{}", error("3p7bfXt9", "3p7b"));
    let again = "{ name = 'h0', address = ['10.1.0.9'], key = '3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=' }, { name";
    assert!(error("{ name", again).contains("`h0` is given twice"));
    assert!(error("10.1.0.0/24", "10.1.0.0").contains("is not a prefix"));
    assert!(error("10.1.0.100", "10.1.0.1").contains("10.1.0.1 is given twice"));
    let (one, two) = (
        "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=",
        "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=",
    );
    assert!(error(one, two).contains("is given twice: each machine"));
    assert!(error("['10.1.0.1']", "[]").contains("`h0` has no address"));
    let rack = "rack = [{ name = 'h0', address = '10.1.0.2', hosts = ['10.2.0.0/24'], key = 'x6WtnLECCapTJ0xICffSJxS+4joIU8dWjcmJhGj6fXw=' }]";
    let with = |from: &str, to: &str| error("key = 'h0.key'", &rack.replace(from, to));
    assert!(with("", "").contains("`h0` is given twice"));
    let rack = TEXT.replace("key = 'h0.key'", &rack.replace("h0", "tor0"));
    assert!(parsed(&rack).is_ok());
    let packet = parsed(&rack.replace("[agent]", "[agent]\ngate = 'packet'")).unwrap_err();
    assert!(packet.contains("agent.gate: \"packet\" holds"), "{packet}");
    assert!(with("['10.2.0.0/24']", "[]").contains("`h0` has no prefixes"));
    assert!(with("10.2.0.0/24", "10.2.0.0").contains("rack: `10.2.0.0` is not a prefix"));
    let switch = "[[switch]]\nname = 'edge0'\naddress = '10.1.0.3'\nup = {}\nhosts = { h1 = ['10.2.0.1'] }\n\
                  key = 'x6WtnLECCapTJ0xICffSJxS+4joIU8dWjcmJhGj6fXw='\n[agent]";
    let with = |from: &str, to: &str| parsed(&TEXT.replace("[agent]", &switch.replace(from, to)));
    assert!(with("", "").is_ok());
    assert!(with("h1", "h0").unwrap_err().contains("`h0` is given twice"));
    assert!(with("10.2.0.1", "10.1.0.1").unwrap_err().contains("10.1.0.1 is given twice"));
    assert!(error("key = 'h0.key'", "quota = 0").contains("at least 1 message per second"));
    let source = error("[agent]", "[clock]\nsource = 'ptp'\n[agent]");
    assert!(source.contains("`ptp` is no source of time"), "{source}");
    let device =
        parsed(&TEXT.replace("[agent]", "[clock]\nsource = '/dev/ptp3'\n[agent]")).unwrap();
    assert_eq!(device.clock.source, ClockSource::Device("/dev/ptp3".into()));
    assert!(error("key = 'h0.key'", "threads = 0").contains("must be 1 to 64"));
    let tenant = |hosts: &str| {
        let tenants = format!("[[tenant]]\nname = 'a'\nhosts = {hosts}\nquota = 9\n[agent]");
        parsed(&TEXT.replace("[agent]", &tenants))
    };
    assert!(tenant("['h0']").is_ok());
    assert!(tenant("['h7']").unwrap_err().contains("there is no [[host]] `h7`"));
    assert!(tenant("['h0', 'h0']").unwrap_err().contains("belongs to `a` already"));
}

#[test]
fn a_discovered_network_is_checked() {
    let switch = "[[switch]]\nname = 's0'\naddress = '10.1.0.3'\n\
                  key = 'x6WtnLECCapTJ0xICffSJxS+4joIU8dWjcmJhGj6fXw='\n";
    let with = |options: &str, more: &str| {
        let text = format!("[discovery]\nrate = '1Gbps'\n{options}\n{switch}{more}\n[agent]");
        parsed(&TEXT.replace("[agent]", &text))
    };
    let options = with("host-rates = { h0 = '2Gbps' }", "").unwrap().discovery.unwrap();
    let rates = ["h0", "h1"].map(|host| options.rate_of(host));
    assert_eq!(rates, [Rate(2_000_000_000), Rate(1_000_000_000)]);
    assert_eq!((options.delay, options.patience), (Time::us(1), Time::s(30)));
    let error = |options: &str, more: &str| with(options, more).unwrap_err();
    assert!(error("host-rates = { h7 = '2Gbps' }", "").contains("there is no [[host]] `h7`"));
    let (own, other) = (with("", "").unwrap(), "name = 'h5'");
    let text = TEXT.replace("name = 'h0'", other);
    let text = text.replace("[agent]", &format!("[discovery]\nrate = '1Gbps'\n{switch}\n[agent]"));
    let changed = own.fixed_change(&parsed(&text).unwrap()).map(|(key, _)| key);
    assert_eq!(changed, Some("host"));
    assert!(error("patience = '100ms'", "").contains("must be at least"));
    assert!(error("", "up = { s1 = ['10.9.9.1'] }").contains("`s0` has `up` or `hosts`"));
    let none = TEXT.replace("[agent]", "[discovery]\nrate = '1Gbps'\n[agent]");
    assert!(parsed(&none).unwrap_err().contains("give a [[host]] and a [[switch]]"));
}

#[test]
fn what_cannot_change_while_daemons_run_is_named() {
    let config = parsed(TEXT).unwrap();
    let changed = |from: &str, to: &str| {
        let new = parsed(&TEXT.replace(from, to)).unwrap();
        config.fixed_change(&new).map(|(key, _)| key)
    };
    assert_eq!(changed("'60ms'", "'70ms'"), None);
    assert_eq!(changed("10.1.0.1'", "10.1.0.3'"), None, "another machine may move");
    assert_eq!(changed("10.1.0.0/24", "10.0.0.0/8"), Some("network"));
    assert_eq!(changed("key = 'h0.key'", "port = 7078"), Some("port"));
    assert_eq!(changed("[agent]", "[agent]\nqueue = 9"), Some("agent.queue"));
    let segments = "[agent]\njoin-segments = false";
    assert_eq!(changed("[agent]", segments), Some("agent.join-segments"));
    assert_eq!(changed("[agent]", "[agent]\ngate = 'packet'"), Some("agent.gate"));
}
