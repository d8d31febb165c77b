//! `antiphon man`: a manual page for the program and one for each verb, made of what can be typed. It must not know commands.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use super::failure::Failure;
use super::{Context, Line};

/// What can be typed after `man`.
#[derive(clap::Args, Debug)]
#[command(after_help = "To read one:         antiphon man threads restore | man -l -\n\
                        To have them all:    antiphon man --out ~/.local/share/man/man1")]
pub(super) struct Arguments {
    /// The verb, with what follows it where it has parts; the program itself when absent
    #[arg(value_name = "VERB", conflicts_with = "out")]
    verb: Vec<String>,
    /// Write all pages into this folder, which is made if it is not there
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Writes one page, or all.
pub(super) fn run(arguments: &Arguments, context: &mut Context<'_>) -> Result<(), Failure> {
    let mut program = Line::command();
    program.build();
    let terminal = &mut *context.terminal;
    if let Some(folder) = &arguments.out {
        let written = write_all(&program, folder)?;
        if terminal.is_json() {
            return Ok(terminal.line(&format!("{:#}", serde_json::json!({ "pages": written })))?);
        }
        let count = super::words::count(written.len() as u64, "page");
        return Ok(terminal.note(&format!("{count} in {}", folder.display()))?);
    }
    let mut command = &program;
    for word in &arguments.verb {
        let Some(found) = command.find_subcommand(word) else {
            let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let message = match known.as_slice() {
                [] => format!("`{}` has no parts", command.get_name()),
                _ => format!("there is no page for `{word}`: {}", known.join(", ")),
            };
            return Err(Failure::usage(message));
        };
        command = found;
    }
    Ok(terminal.write(&page(command)?.1)?)
}

/// Writes the pages of a command and of all that follows it; the names of the files.
fn write_all(program: &Command, folder: &Path) -> Result<Vec<String>, Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
    let mut written = Vec::new();
    let mut open = vec![program];
    while let Some(command) = open.pop() {
        let (name, page) = page(command)?;
        let path = folder.join(&name);
        std::fs::write(&path, page).map_err(|error| Failure::file(&path, error))?;
        written.push(name);
        open.extend(command.get_subcommands());
    }
    written.sort_unstable();
    Ok(written)
}

/// The name of a page's file, and the page.
fn page(command: &Command) -> Result<(String, String), Failure> {
    let man = Man::new(command.clone()).manual("Antiphon");
    let mut page = Vec::new();
    man.render(&mut page)?;
    Ok((man.get_filename(), String::from_utf8_lossy(&page).into_owned()))
}
