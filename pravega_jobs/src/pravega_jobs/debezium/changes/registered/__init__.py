"""Change events with headers of a Schema Registry: in Avro, Protobuf or JSON, with the same rules as plain ones."""
