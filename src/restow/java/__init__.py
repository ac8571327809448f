"""Java for the embedded broker and for Spark.

runtime.py     finds a Java that is new enough
jars.py        fetches jars once, with their dependencies, into a cache
class_data.py  archives of loaded classes, which make JVMs start faster
__main__.py    fetches the embedded broker's jars ahead of time, for `make`
"""
