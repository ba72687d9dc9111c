/* Tiles of at most ROWS = 6 pixels x two vectors, and their table: for sets with 16 registers. */
#define TILES(rows)                                                                                \
    TILE(rows, 1)                                                                                  \
    TILE(rows, 2)
TILES(1)
TILES(2)
TILES(3)
TILES(4)
TILES(5)
TILES(6)
#define TWO(rows)                                                                                  \
    {                                                                                              \
        tile_##rows##_1, tile_##rows##_2                                                           \
    }
#define TABLE                                                                                      \
    {                                                                                              \
        .lanes = LANES, .vectors = VECTORS, .rows = {6, 6}, .deep = 4 / WIDE, .wide = WIDE,        \
        .take = take, .tile = {                                                                    \
            TWO(1),                                                                                \
            TWO(2),                                                                                \
            TWO(3),                                                                                \
            TWO(4),                                                                                \
            TWO(5),                                                                                \
            TWO(6)                                                                                 \
        }                                                                                          \
    }
