//! The real program as a process of its own: started, killed, and looked at from outside. It must not know what is asked of it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use antiphon::grpc::pb::admin_service_client::AdminServiceClient;
use antiphon::grpc::pb::exchange_service_client::ExchangeServiceClient;
use antiphon::grpc::pb::run_service_client::RunServiceClient;
use antiphon::grpc::pb::thread_service_client::ThreadServiceClient;
use tonic::transport::Channel;

use super::within;

/// What it says on its errors, in its folder.
pub(crate) const LOG: &str = "log";

/// The program at work on a folder.
pub(crate) struct Program {
    child: Child,
    address: String,
    channel: Channel,
}

impl Program {
    /// Starts it with a configuration, on what is in the folder.
    pub(crate) async fn start(folder: &Path, config: &str) -> Self {
        Self::start_with(folder, config, &[]).await
    }

    /// The same, with variables of its environment.
    pub(crate) async fn start_with(folder: &Path, config: &str, variables: &[(&str, &OsStr)]) -> Self {
        let path = folder.join("antiphon.toml");
        std::fs::write(&path, config).expect("the configuration is written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_antiphon"));
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(&path)
            .arg("--data")
            .arg(folder.join("data"));
        command.envs(variables.iter().copied());
        let log = File::create(folder.join(LOG)).expect("a temporary file");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().expect("the program starts");
        let out = child.stdout.take().expect("its output");
        let says = tokio::task::spawn_blocking(move || {
            let mut lines = BufReader::new(out).lines().map_while(Result::ok);
            lines.find_map(|line| line.strip_prefix("listening on ").map(str::to_owned))
        });
        let address =
            within("the program to listen", says).await.expect("the reader").expect("it says where it listens");
        let channel = Channel::from_shared(format!("http://{address}")).expect("an address").connect_lazy();
        Self { child, address, channel }
    }

    /// SIGKILL: no handler, no flush, no word to anybody.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("kill -9");
        self.child.wait().expect("it is gone");
    }

    /// SIGTERM, and until it has ended in good order.
    pub(crate) async fn terminate(&mut self) {
        let told = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status();
        assert!(told.expect("kill runs").success());
        let ended = async {
            loop {
                match self.child.try_wait().expect("the program is ours") {
                    Some(status) => break status,
                    // Nothing tells that a process has ended but asking.
                    None => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        };
        assert!(within("the program to end", ended).await.success());
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address.parse().expect("an address")
    }

    /// A connection of its own, for tests that cut it.
    pub(crate) fn fresh_channel(&self) -> Channel {
        Channel::from_shared(format!("http://{}", self.address)).expect("an address").connect_lazy()
    }

    pub(crate) fn exchanges(&self) -> ExchangeServiceClient<Channel> {
        ExchangeServiceClient::new(self.channel.clone()).max_decoding_message_size(usize::MAX)
    }

    pub(crate) fn threads(&self) -> ThreadServiceClient<Channel> {
        ThreadServiceClient::new(self.channel.clone())
    }

    pub(crate) fn runs(&self) -> RunServiceClient<Channel> {
        RunServiceClient::new(self.channel.clone())
    }

    pub(crate) fn admin(&self) -> AdminServiceClient<Channel> {
        AdminServiceClient::new(self.channel.clone())
    }

    /// How much memory it has, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        self.memory_line("VmRSS:")
    }

    /// The most that it ever had, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        self.memory_line("VmHWM:")
    }

    fn memory_line(&self, name: &str) -> u64 {
        self.status_line(name).trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
    }

    fn status_line(&self, name: &str) -> String {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it is at work");
        status.lines().find_map(|line| line.strip_prefix(name)).expect("the line is there").trim().to_owned()
    }

    /// How many threads it has.
    pub(crate) fn tasks(&self) -> usize {
        self.status_line("Threads:").parse().expect("a number")
    }

    /// How many files and sockets it has open.
    pub(crate) fn files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("it is at work").count()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Gone already where the test killed it.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
