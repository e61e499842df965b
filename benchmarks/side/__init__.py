"""Programs that run the code of one checkout: started with its Python, and called by `benchmarks.program`.

They are the programs of this checkout also when they run the code of another one, so that both are measured in the same
way. They use the public API of the code that is measured.
"""
