//! Parameters for the length of messages, and the check that messages may be this long.

use host_model::scenario::Scenario;
use host_sandbox::GuestLimits;

use crate::base::Failure;
use crate::cluster::plugin_source::LoadedPlugin;

/// The first words in the meaning of a parameter for the number of bytes that the protocol puts into one message.
const MEANING: &str = "bytes in one message";
/// Bytes that the rest of such a message takes.
const AROUND: u64 = 4 << 10;

/// Refuses parameters with which a protocol sends longer messages than its limit or its network allows: the handlers that send them fail,
/// so a running cluster makes no progress.
///
/// # Errors
///
/// There is such a parameter.
pub fn check(loaded: &LoadedPlugin, scenario: &Scenario, limits: &GuestLimits) -> Result<(), Failure> {
    let about = loaded.plugin.about().map_or(&[][..], |about| &about.parameters);
    let values = loaded.effective_parameters(scenario);
    for parameter in about.iter().filter(|parameter| parameter.meaning.starts_with(MEANING)) {
        let name = &parameter.name;
        let Some(bytes) = values.get(name).and_then(|value| value.parse::<u64>().ok()) else { continue };
        let by_network = scenario.network.message_max() as u64;
        let by_limit = limits.message_bytes as u64;
        let room = by_limit.min(by_network).saturating_sub(AROUND);
        if bytes <= room {
            continue;
        }
        let what = match by_limit <= by_network {
            true => format!("the limit `message` is {by_limit} bytes"),
            false => format!("a message on links that are {} has at most {by_network} bytes", scenario.network),
        };
        let failure = Failure::configuration(format_args!(
            "`{name} = {bytes}`: {what}, including {AROUND} bytes around the content, so nodes cannot send such messages"
        ))
        .about(format_args!("set {name}"));
        let raise = match by_limit <= by_network {
            true => format!(
                ", or raise the limit: `message = {}` under `[limits]`, or `--limit message={0}`",
                bytes + AROUND
            ),
            false => String::new(),
        };
        return Err(failure.help(format_args!("say `{name} = {room}` or less{raise}")));
    }
    Ok(())
}
