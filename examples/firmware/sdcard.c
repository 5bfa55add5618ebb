/*
 * Reads the same model from a card of 512-byte sectors (here memory that is only read by sectors). The library reports
 * which bytes it needs, and only their sectors are read. All metadata is in a small buffer; the bytes of layer1.weight
 * stream through one sector.
 *
 * The exit code is 0 only if the bytes are the model's, and fewer than 3 sectors were read in addition to those that
 * the metadata and the tensor need.
 */
#include "board.h"
#include "tenslice.h"

#define SECTOR 512

static unsigned sectors_read;

/* Reads one sector: the only operation of the card. */
static void card_read(uint32_t sector, unsigned char *to)
{
    const size_t size = (size_t)(model_end - model_start), from = (size_t)sector * SECTOR;
    memset(to, 0, SECTOR);
    memcpy(to, model_start + from, size - from < SECTOR ? size - from : SECTOR);
    sectors_read++;
}

/* Reads `length` bytes at `offset`, sector by sector. */
static void card_fetch(uint64_t offset, unsigned char *to, uint32_t length)
{
    unsigned char sector[SECTOR];
    while (length > 0) {
        const uint32_t skip = (uint32_t)(offset % SECTOR), part = SECTOR - skip < length ? SECTOR - skip : length;
        card_read((uint32_t)(offset / SECTOR), sector);
        memcpy(to, sector + skip, part);
        offset += part;
        to += part;
        length -= part;
    }
}

int main(void)
{
    static unsigned char room[2048];
    const uint64_t size = (uint64_t)(model_end - model_start);
    tenslice_source source;
    tenslice_need need;
    tenslice_status status;
    tenslice_file file;
    tenslice_tensor tensor;
    tenslice_component weight;
    tenslice_component_info info;
    unsigned char bytes[SECTOR];
    uint32_t used = 0, metadata = 0, bound, sector;
    uint64_t consumed = 0;
    uint32_t sum = 0, expected = 0;
    const unsigned char *at;
    unsigned i;

    if (tenslice_source_init(&source, size) != TENSLICE_OK)
        return 1;
    while ((status = tenslice_file_open_source(&file, &source, &need, NULL)) == TENSLICE_NEED) {
        if (need.length > sizeof room - used) { /* never trust the sizes that a file states */
            print("the metadata does not fit\n");
            return 1;
        }
        card_fetch(need.offset, room + used, (uint32_t)need.length);
        if (tenslice_source_add(&source, need.offset, room + used, (size_t)need.length) != TENSLICE_OK)
            return 1;
        used += (uint32_t)need.length;
        metadata += (uint32_t)((need.length + SECTOR - 1) / SECTOR);
    }
    info.struct_size = sizeof info;
    if (status != TENSLICE_OK || tenslice_file_find(&file, "layer1.weight", 13, &tensor, NULL) != TENSLICE_OK
        || tenslice_tensor_component(&tensor, "data", 4, &weight, NULL) != TENSLICE_OK
        || tenslice_component_get_info(&weight, &info) != TENSLICE_OK) {
        print(tenslice_status_text(status));
        print("\n");
        return 1;
    }
    /* Reads each sector once. A real program would compute with the bytes; this one hashes them. */
    for (sector = (uint32_t)(info.offset / SECTOR); consumed < info.length; sector++) {
        const uint32_t skip = (uint32_t)((info.offset + consumed) % SECTOR);
        card_read(sector, bytes);
        for (i = skip; i < SECTOR && consumed < info.length; i++, consumed++)
            sum = sum * 31 + bytes[i];
    }
    for (at = model_start + info.offset; at < model_start + info.offset + info.length; at++)
        expected = expected * 31 + *at;
    /* The sectors of the metadata and the tensor, plus 3: ranges may cross sectors. */
    bound = metadata + (uint32_t)((info.length + SECTOR - 1) / SECTOR) + 3;
    print("read ");
    print_number(sectors_read);
    print(" sectors of ");
    print_number((uint32_t)((size + SECTOR - 1) / SECTOR));
    print(": the metadata in ");
    print_number(used);
    print(" bytes of memory, layer1.weight through one sector\n");
    return sectors_read < bound && consumed == info.length && sum == expected ? 0 : 1;
}
