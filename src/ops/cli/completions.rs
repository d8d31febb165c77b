//! `antiphon completions`: what a shell needs to complete commands. It must not know commands.

use clap::CommandFactory;
use clap_complete::Shell;

use super::failure::Failure;
use super::{Context, Line};

/// What can be typed after `completions`.
#[derive(clap::Args, Debug)]
#[command(after_help = "For this session of bash:  source <(antiphon completions bash)\n\
                        For fish, for good:        antiphon completions fish > ~/.config/fish/completions/antiphon.fish")]
pub(super) struct Arguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Writes the script.
pub(super) fn run(arguments: &Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Line::command(), "antiphon", &mut script);
    Ok(context.terminal.write(&String::from_utf8_lossy(&script))?)
}
