"""Resources: the cluster, the Schema Registry, databases, Spark sessions."""
