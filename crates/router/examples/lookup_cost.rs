//! What a lookup costs with so many routes: `valgrind --tool=callgrind` over two counts of rounds, the
//! difference divided by the rounds. Arguments: routes, rounds.

use std::hint::black_box;

use router::{Match, Router};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number =
        || arguments.next().ok_or("arguments: ROUTES ROUNDS")?.parse().map_err(|_| "not a number");
    let (routes, rounds): (u32, u32) = (number()?, number()?);
    let mut router = Router::new();
    router.insert("GET", "/users/{handle}", 0)?;
    for other in 1..routes {
        router.insert("GET", &format!("/section{other}/{{handle}}"), other)?;
    }
    let mut hits = 0;
    for _ in 0..rounds {
        if let Ok(Match::Found(found)) = router.lookup(black_box("GET"), black_box("/users/johndoe")) {
            hits += u32::from(found.params.get("handle").is_some());
        }
    }
    println!("{hits} of {rounds} lookups found their route");
    Ok(())
}
