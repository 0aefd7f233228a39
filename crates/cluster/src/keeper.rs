//! The thread from which servers of tests are started.
//!
//! The kernel can signal a child when its parent dies (PR_SET_PDEATHSIG), but takes the **thread** that
//! started it for the parent. Threads of tests end with their test, so a thread that lives as long as the
//! process starts the servers that several tests share.

use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::{io, thread};

struct Order {
    command: Command,
    reply: Sender<io::Result<Child>>,
}

/// Starts a program from the thread that outlives all others.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    static KEEPER: OnceLock<Sender<Order>> = OnceLock::new();
    let keeper = KEEPER.get_or_init(|| {
        let (orders, incoming) = channel::<Order>();
        thread::spawn(move || {
            for mut order in incoming {
                // Whoever gave the order may have given up.
                let _ = order.reply.send(order.command.spawn());
            }
        });
        orders
    });
    let (reply, answer) = channel();
    let gone = || io::Error::other("the thread that starts servers has ended");
    keeper.send(Order { command, reply }).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}
