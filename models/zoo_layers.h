/* What the definitions of the zoo's networks share, and those in zoo_more.c, zoo_maps.c
 * and zoo_papers.c. */
#ifndef ZOO_LAYERS_H
#define ZOO_LAYERS_H

#include "zoo_builder.h"

/* Name of a layer, valid until the end of the enclosing block. */
#define NAME(...) zoo_name((char[64]){0}, __VA_ARGS__)

/* Prints into buffer, and returns it. */
__attribute__((format(printf, 2, 3))) const char *zoo_name(char buffer[64], const char *fmt, ...);

/* Output channels, kernel (square unless .kw follows), and further fields. */
#define CONV(outputs, k, ...) ((struct zoo_conv_spec){.out = (outputs), .kh = (k), __VA_ARGS__})

void zoo_densenet121(struct zoo *z);
void zoo_squeezenet(struct zoo *z);
void zoo_yolov2(struct zoo *z);
void zoo_hardcorenas(struct zoo *z);
void zoo_yolov3(struct zoo *z);
void zoo_unet(struct zoo *z);
void zoo_deeplabv3(struct zoo *z);
void zoo_xception(struct zoo *z);
void zoo_c3d(struct zoo *z);

#endif
