/*
 * Logs measurements to flash, and goes on after a loss of power. The file is zTensor 1.2. Its declarations are constants,
 * so the program knows the length of the file, and which number belongs to which byte. There is no heap and no buffer.
 *
 * The flash is simulated: pages are erased as a whole, and a byte that is programmed twice ends the test. Power is lost
 * at each byte of the file, once in each run. Until the file is complete, it must not open. After the restart the page
 * that was being written is erased, the writer resumes at its start, and the numbers from there on are measured again.
 * The exit code is 0 only if all numbers of all files are right.
 */
#include "board.h"
#include "paint.h"
#include "tenslice.h"

#define PAGE 128
#define PAGES 12

/* ---- The flash ---- */

static unsigned char flash[PAGES * PAGE] __attribute__((aligned(64)));
static unsigned char programmed[PAGES * PAGE]; /* 1 for a byte that was programmed since its page was erased */
static size_t power; /* the number of bytes until power is lost */

static void erase(size_t page)
{
    memset(flash + page * PAGE, 0xff, PAGE);
    memset(programmed + page * PAGE, 0, PAGE);
}

static _Noreturn void stop(const char *why)
{
    print("log: ");
    print(why);
    print("\n");
    leave(1);
}

/* The sink. Pieces of any length are programmed as they come. */
static int program(void *context, uint64_t offset, const void *bytes, size_t length)
{
    const unsigned char *from = (const unsigned char *)bytes;
    size_t at = (size_t)offset;
    (void)context;
    for (; length > 0; length--, at++, power--) {
        if (power == 0)
            return 1;
        if (at >= sizeof flash)
            stop("the flash is full");
        if (programmed[at])
            stop("a byte was programmed twice");
        programmed[at] = 1;
        flash[at] = *from++;
    }
    return 0;
}

static const tenslice_sink sink = {program, NULL};

/* ---- The file ---- */

static const uint64_t pressure_shape[] = {4, 9}, temperature_shape[] = {48}, valid_shape[] = {300};
static const tenslice_new_tensor tensors[] = {
    TENSLICE_NEW_TENSOR("pressure", TENSLICE_I32, pressure_shape),
    TENSLICE_NEW_TENSOR("temperature", TENSLICE_F32, temperature_shape),
    TENSLICE_NEW_TENSOR("valid", TENSLICE_U8, valid_shape),
};
static const tenslice_new_attribute attributes[] = {TENSLICE_NEW_TEXT("sensor", "north")};
static const tenslice_new_file declared = {
    .struct_size = sizeof declared,
    .format = TENSLICE_FORMAT_ZTENSOR,
    .tensors = tensors,
    .tensor_count = sizeof tensors / sizeof *tensors,
    .attributes = attributes,
    .attribute_count = sizeof attributes / sizeof *attributes,
};

typedef union {
    int32_t pressure;
    float temperature;
    uint8_t valid; /* 255, as in erased flash */
    unsigned char bytes[4];
} number;

/* The sensor: returns number `index` of a tensor, and sets its size. */
static number measure(uint32_t tensor, uint32_t index, uint32_t *size)
{
    number measured;
    *size = tensor == 2 ? 1 : 4;
    if (tensor == 0)
        measured.pressure = 101325 - 7 * (int32_t)(index * index);
    else if (tensor == 1)
        measured.temperature = (float)index * 0.25f - 3;
    else
        measured.valid = 255;
    return measured;
}

/* ---- Writing ---- */

static tenslice_status status;
static uint64_t file_length;

/* Returns the first byte to write. The last page that is not blank was being written. Blank pages after it are erased,
   too: their bytes may be numbers that look like erased flash. */
static size_t restart(void)
{
    size_t end = sizeof flash, page;
    while (end > 0 && flash[end - 1] == 0xff)
        end--;
    page = end == 0 ? 0 : (end - 1) / PAGE;
#ifndef KEEP_PAGE
    for (end = page; end < PAGES; end++)
        erase(end);
#endif
    return page * PAGE;
}

/* The work after each start: writes the file from where it was cut off. */
static __attribute__((noinline)) void log_numbers(void)
{
    tenslice_writer writer;
    tenslice_due due;
    due.struct_size = sizeof due;

    status = tenslice_writer_open(&writer, &declared, NULL, 0, NULL);
    if (status == TENSLICE_OK)
        status = tenslice_writer_length(&writer, &file_length);
    if (status == TENSLICE_OK)
        status = tenslice_writer_resume(&writer, &sink, restart(), NULL);
    while (status == TENSLICE_OK && (status = tenslice_writer_due(&writer, &due)) == TENSLICE_OK) {
        /* A page may begin inside a number: then only its other bytes are due. */
        uint32_t size, skip, offset = (uint32_t)due.offset;
        number measured = measure(due.tensor, due.tensor == 2 ? offset : offset / 4, &size);
        skip = offset % size;
        status = tenslice_writer_data(&writer, &sink, measured.bytes + skip, size - skip, NULL);
    }
    if (status == TENSLICE_END)
        status = tenslice_writer_finish(&writer, &sink, NULL);
}

/* ---- The test ---- */

static void check_numbers(void)
{
    tenslice_file file;
    tenslice_bytes bytes;
    tenslice_cursor cursor;
    tenslice_str sensor;
    uint32_t tensor, index, at, size;

    if (tenslice_file_open(&file, flash, (size_t)file_length, NULL) != TENSLICE_OK)
        stop("the file does not open");
    if (tenslice_file_attributes(&file, &cursor) != TENSLICE_OK
        || tenslice_attributes_get_str(&cursor, "sensor", TENSLICE_NUL, &sensor, NULL) != TENSLICE_OK
        || sensor.length != 5 || memcmp(sensor.data, "north", 5) != 0)
        stop("the attribute is wrong");
    for (tensor = 0; tensor < declared.tensor_count; tensor++) {
        const tenslice_new_tensor *is = &tensors[tensor];
        const tenslice_expected expected = {sizeof expected, is->dtype, is->rank, is->shape};
        if (tenslice_file_get(&file, is->name, TENSLICE_NUL, &expected, &bytes, NULL) != TENSLICE_OK)
            stop("a tensor is missing");
        for (at = 0, index = 0; at < bytes.length; at += size, index++) {
            const number measured = measure(tensor, index, &size);
            if (memcmp((const unsigned char *)bytes.data + at, measured.bytes, size) != 0)
                stop("a number is wrong");
        }
        if (index != (tensor == 0 ? 36 : tensor == 1 ? 48 : 300))
            stop("numbers are missing");
    }
}

static uint32_t stack_of_writing(void)
{
    return stack_of(log_numbers) - stack_of(nothing);
}

int main(void)
{
    tenslice_file file;
    uint32_t stack, most = 0;
    size_t page, lost = 0;

    do {
        for (page = 0; page < PAGES; page++)
            erase(page);
        power = lost;
        stack = stack_of_writing();
        most = stack > most ? stack : most;
        if (status != TENSLICE_SINK_FAILED)
            stop("the loss of power was not noticed");
        if (tenslice_file_open(&file, flash, (size_t)file_length, NULL) == TENSLICE_OK
            || tenslice_file_open(&file, flash, lost, NULL) == TENSLICE_OK)
            stop("an incomplete file opens");
        power = SIZE_MAX;
        stack = stack_of_writing();
        most = stack > most ? stack : most;
        if (status != TENSLICE_OK)
            stop(tenslice_status_name(status));
        check_numbers();
    } while (++lost < file_length);
    print("a log of ");
    print_number((uint32_t)file_length);
    print(" bytes in flash is complete and right after a loss of power at each of them; stack of writing: ");
    print_number(most);
    print(" bytes\n");
    return 0;
}
