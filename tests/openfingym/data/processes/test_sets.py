"""The named sets: the same bytes everywhere, disjoint splits, bounded memory."""

import tracemalloc

import numpy as np
import pytest

from openfingym.data.processes import (
    BLOCK,
    SPLITS,
    Counts,
    draw_sets,
    parameters,
    paths_digest,
    process_set,
    process_sets,
    stream_paths,
)
from openfingym.data.processes.info import process_info
from openfingym.errors import DataError

LAWS = {
    "crypto-log-returns": "f9c87af5598d38b5995f80109e880905ce850dbcaaed0c8b290104c0003c9fb4",
    "crypto-pairs": "1f488c00d65cb5ae57b9551f5b616bff5b07660be9c8d68d3b55c6ef841665d5",
    "fbm": "4f3b0cef98473c7841ee85ddc11c17ac6c97fd6c60d3d5b40cebf1dab60673a6",
    "lob-bars": "2ee2b031090b7bbb4cbb1c82749f4af4b86e6f763cb08d7c3555d9bdc2d108e8",
    "ou": "7f68519c55142af11c5279527cd9fc735299ccdb2b8d86a58c00b239cf69df62",
    "rough-volatility": "a94abcb1dada3d2f9c9c11b14bc20e0706547e7b6dfe442f17f04fa42ebb1ddd",
    "stock-ohlcv": "4379c11470e7824fe7c0792393d93a207d92b442bb900553989933acd2d2e0ff",
    "tail-gan": "5d403c89aa2c163cd4f7d75126aeafdfb11d8866897200d265ab50b5defd563c",
}

DIGESTS = {
    "crypto-log-returns": (
        "3095e09cde07851b98979dfb4fb8e87a9e82a3a1ab8505199d517eb867aaa1c7",
        "a73119e3a2219d553e59522e41c86ef91a91fb0092b89a6d2292b6d05fc9bd48",
    ),
    "crypto-pairs": (
        "8049272b3b9a642e67b06adb7e5f72b219788511ab09a0afc0c73e0ba3f848c0",
        "88d631c6d41aaa761bbf84378a82846345648980aeb854e8609d55ce4d193017",
    ),
    "fbm": (
        "82841367c0d9eed86bcd64cdab7f7adf7eef94f6ff867c118cf240706bc34b52",
        "7a9a23735ef93a564fa726bef91ad6365dc8614ebe1ef1d65282f34b916c166a",
    ),
    "lob-bars": (
        "ef9b7eae6d42fadc00d74e0c9978b5a4c9c89621c69864604bf8903856e76308",
        "6d8a15f2ba66d8dee149ff17c84cd0de80ff96cdf0f83eaea3843898778b484b",
    ),
    "ou": (
        "2ec8b69e62a151a9d019dddbd97a6221c4cfc0597a23f7c876681d578e05cfb7",
        "715da3c46dccfcfa4115c584443299d51912eabbb5806624fe413271241a60b7",
    ),
    "rough-volatility": (
        "afc2f63a90a62a1a25aa8cbdff83dafe10b71bc236ff065b770b251e6eb5de77",
        "6971735e668ff467b8f8bd113f3edbebd5d14a475a243f706e41ac7ad410895b",
    ),
    "stock-ohlcv": (
        "8e45be395ccb5d64f3cfbf4a90f2530e8e7e4c1146ae4571502330c69d326978",
        "16145c8a45f2b8b65ba6df27a97c2cb5e5256c06dd3a86eedd6438c188fbad63",
    ),
    "tail-gan": (
        "070f788780597ad5dec966b8c66d9ffd2a7259be008242560fe7e33d0cbea385",
        "c46d0c5eee3dcdab6ed62acd46cbfee60bddb01dc6678f94a647ba0943f15363",
    ),
}

CONTRACTS = {
    "ou": ((64, 1), "specified", (8_000, 1_000, 1_000)),
    "rough-volatility": ((200, 2), "specified", (16_000, 2_000, 2_000)),
    "fbm": ((11, 3), "specified", (10_000, 5_000, 5_000)),
    "tail-gan": ((100, 5), "specified", (50_000, 5_000, 5_000)),
    "lob-bars": ((60, 14), "simulated", (1_047, 237, 238)),
    "crypto-pairs": ((60, 20), "simulated", (6_089, 1_317, 1_319)),
    "crypto-log-returns": ((24, 10), "simulated", (7_004, 875, 876)),
    "stock-ohlcv": ((20, 5), "simulated", (900, 110, 120)),
}


def test_the_catalogue():
    assert {
        known.name: (known.shape, known.kind, tuple(map(known.counts.of, SPLITS))) for known in process_sets()
    } == CONTRACTS
    for known in process_sets():
        assert len(known.decimals) == known.shape[1]
        assert known.title
        assert known.source
        assert known.calibration
        assert parameters(known)


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_bytes(name):
    """The first block of train, and of private: what every machine must reproduce."""
    known = process_set(name)
    first = next(stream_paths(known, "train"))
    hidden = next(stream_paths(known, "private"))
    assert np.isfinite(first).all()
    assert len(np.unique(first.reshape(len(first), -1), axis=0)) == len(first)
    for channel, decimals in enumerate(known.decimals):
        assert first[:, :, channel].tolist() == np.round(first[:, :, channel], decimals).tolist()
    assert not np.signbit(first[first == 0]).any()
    assert (paths_digest([first]), paths_digest([hidden])) == DIGESTS[name]


def test_the_digest_of_a_law_outlives_a_rename():
    """It is made of the laws' names and parameters, and packages that were built hold it."""
    assert {known.name: process_info(known).sha256 for known in process_sets()} == LAWS


def test_splits_share_no_path():
    sets = draw_sets("fbm", counts=Counts(1_200, 700, 600))
    rows = [set(map(bytes, split)) for split in (sets.train, sets.public, sets.private)]
    assert [len(split) for split in rows] == [1_200, 700, 600]
    assert not rows[0] & rows[1]
    assert not rows[0] & rows[2]
    assert not rows[1] & rows[2]
    cross = np.corrcoef(sets.train[:600, -1, 0], sets.private[:, -1, 0])[0, 1]
    assert abs(cross) < 0.2


def test_fewer_paths_are_a_prefix_and_blocks_stand_alone():
    known = process_set("ou")
    many = np.concatenate(list(stream_paths(known, "public", 5, 2 * BLOCK + 10)))
    few = np.concatenate(list(stream_paths(known, "public", 5, BLOCK + 3)))
    assert len(many) == 2 * BLOCK + 10
    assert few.tolist() == many[: BLOCK + 3].tolist()
    assert paths_digest([many]) == paths_digest(stream_paths(known, "public", 5, 2 * BLOCK + 10))


def test_seeds_names_and_splits_make_different_paths():
    ou = process_set("ou")
    found = {paths_digest(stream_paths(ou, split, seed, 20)) for split in SPLITS for seed in (0, 1)}
    assert len(found) == 6


def test_the_ohlcv_set_rotates_through_the_stocks():
    train = draw_sets("stock-ohlcv").train
    assert train.shape == (900, 20, 5)
    volume = np.log(train[:, :, 4]).mean(axis=1).reshape(90, 10).mean(axis=0)
    expected = np.log([stock.volume for stock in process_set("stock-ohlcv").process.stocks])
    assert np.argsort(volume).tolist() == np.argsort(expected).tolist()


def test_drawn_sets_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        draw_sets("fbm", counts=Counts(2, 2, 2)).train[0] = 0.0


def test_streaming_needs_memory_for_a_block_only():
    """3,000 paths of tail-gan are 12 MB, and all 50,000 would be 200; one block is 2."""
    known = process_set("tail-gan")
    next(stream_paths(known, "train", 1, BLOCK))
    peaks = []
    for blocks in (1, 6):
        tracemalloc.start()
        paths_digest(stream_paths(known, "train", 1, blocks * BLOCK))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.25 * peaks[0]
    assert peaks[0] < 60e6


def test_what_cannot_be_asked_for():
    with pytest.raises(DataError, match="did you mean 'fbm'"):
        process_set("fbn")
    known = process_set("ou")
    for bad in ({"seed": -1}, {"count": 0}):
        with pytest.raises(DataError, match="one path at least"):
            stream_paths(known, "train", **bad)
    with pytest.raises(DataError, match="'test'"):
        stream_paths(known, "test")
    with pytest.raises(DataError, match="public: need at least one path"):
        Counts(1, 0, 1)
