package outbox

import "hash/crc32"

// Partitions is the fixed number of partitions that keys are spread over.
const Partitions = 64

// Partition is the partition of a key: CRC-32 (IEEE 802.3, as in zlib, gzip and PNG) of its bytes, modulo Partitions.
// Nearly every language has this function, so that writers elsewhere can set partition_no too; rows without it (-1)
// will do. A wrong number is put right by the first relay that meets it, but the event may have been overtaken by then.
// Test vectors: "" → 0, "a" → 3, "123456789" → 38.
//
// An event without a key is spread by its id, since nothing orders it.
func Partition(key string) int {
	return int(crc32.ChecksumIEEE([]byte(key)) % Partitions)
}

func partitionOf(e *Event, id string) int {
	if e.Key == "" {
		return Partition(id)
	}
	return Partition(e.Key)
}
