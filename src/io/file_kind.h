/* What a file is, by how its content begins. */
#ifndef AD_IO_FILE_KIND_H
#define AD_IO_FILE_KIND_H

enum ad_file_kind {
    AD_FILE_OTHER, /* protobuf, perhaps: that begins like anything */
    AD_FILE_PICTURE,
    AD_FILE_NPY,
};

/* What is no regular file or cannot be read is OTHER: whoever reads it next says why. Two letters
 * are enough for some formats of pictures; a file whose name ends with .pb or .onnx is none of
 * these. */
enum ad_file_kind ad_file_kind(const char *path);

#endif
