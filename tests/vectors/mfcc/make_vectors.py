# SPDX-License-Identifier: Apache-2.0
"""Make tensorflow.npz beside this file with TensorFlow, which is no dependency.

    pip install -r tests/vectors/mfcc/requirements.txt
    PYTHONPATH=. python tests/vectors/mfcc/make_vectors.py

The features `mfcc` of generated sounds, line by line as in get_dataset.py of
mlcommons/tiny (benchmark/training/keyword_spotting, commit 1afd2c9), for the input of
its reference model, cut towards 0 and limited to int8.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from scenarios.tasks.tflite import sounds

HERE = Path(__file__).parent
SOUNDS = 120
SEED = 3
SCALE, ZERO_POINT = 0.5847029089927673, 83


def features(sound: Any) -> Any:
    """Return the features (49, 10) of a sound."""
    wav = tf.cast(sound, tf.float32)
    wav = wav / tf.reduce_max(wav)
    stfts = tf.signal.stft(
        wav,
        frame_length=480,
        frame_step=320,
        fft_length=None,
        window_fn=tf.signal.hann_window,
    )
    weights = tf.signal.linear_to_mel_weight_matrix(
        40, stfts.shape[-1], 16000, 20.0, 4000.0
    )
    mel = tf.tensordot(tf.abs(stfts), weights, 1)
    logarithms = tf.math.log(mel + 1e-6)
    return tf.signal.mfccs_from_log_mel_spectrograms(logarithms)[..., :10].numpy()


def main() -> None:
    """Write the features of the sounds that are not silent."""
    made = sounds.samples(SOUNDS, SEED)
    heard = made[made.max(axis=1) > 0]
    reals = np.stack([features(sound) for sound in heard])
    values = np.trunc(reals / np.float32(SCALE) + ZERO_POINT)
    stored = np.clip(values, -128, 127).astype(np.int8)
    np.savez_compressed(HERE / "tensorflow.npz", features=stored)
    text = f"tensorflow-cpu {tf.__version__}\nnumpy {np.__version__}\n"
    (HERE / "VERSIONS").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
