"""The corpus of a crawl: from any number of files straight to the samples, without a row for each.

Files, or parts of them (`splits`), are read side by side; each reader keeps in memory, for every
context, only what a corpus would keep (`gathering`), and writes it down as a sorted run when it has
too much (`runs`). Then the runs are merged site by site (`reducing`) into stores, a share of all
sites each. Every step keeps the k smallest hashes, so what comes out depends neither on the order
of the URLs nor on how they were split. `job` is the way in: what is done, by whom, and what of it
was done before it was interrupted.
"""
