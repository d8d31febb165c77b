//! Commands as somebody types them, with grpcurl where `scripts/tools/install` puts it. It must not know what they are for.

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use crate::markdown::path;
use crate::support::within;

/// The address that documents use.
pub(crate) const DOCUMENTED: &str = "127.0.0.1:7373";

/// What a command did.
pub(crate) struct Done {
    pub(crate) succeeded: bool,
    /// What it printed, errors too, in order.
    pub(crate) printed: String,
}

/// Runs a script, in which the documented address is that of the server.
pub(crate) async fn run(script: &str, server: SocketAddr) -> Done {
    let tools = path(".tools/bin");
    let grpcurl = tools.join("grpcurl");
    assert!(grpcurl.is_file(), "{} is missing: run scripts/tools/install grpcurl", grpcurl.display());
    let script = format!(
        "PATH={tools}:$PATH; export PATH\nexec 2>&1\n{script}",
        tools = tools.display(),
        script = script.replace(DOCUMENTED, &server.to_string())
    );
    let work = move || Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).output();
    let output = within("the commands to end", tokio::task::spawn_blocking(work)).await.unwrap().unwrap();
    Done { succeeded: output.status.success(), printed: String::from_utf8(output.stdout).unwrap() }
}
