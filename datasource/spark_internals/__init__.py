"""What this project uses of PySpark that is not public. A new version of PySpark may change it, so it is all here.

worker_imports   what a worker imports before Spark forks it
runner           no traceback when Spark stops a query
quick_acks       acknowledges the bytes of Spark's socket at once
process          what Spark's processes know: the folder of files, the properties of a task, whether filters come
jvm              what the driver's program asks the JVM

`pyspark_kraft` has its own, because it runs before it is known that no module of the user hides this package.
"""
