"""Side-by-side measurements of Howdah and its peers. README.md says how to read them."""
