"""Programs that run the code of one checkout: started with its Python, and called by `benchmarks.program`.

They are this checkout's, whichever side they run: both sides are measured in the same way. Of the code that is measured
they use what users use.
"""
