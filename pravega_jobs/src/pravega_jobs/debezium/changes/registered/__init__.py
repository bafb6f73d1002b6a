"""Change events with headers of a Schema Registry: in Avro, Protobuf or JSON, read by the same rules as plain ones."""
