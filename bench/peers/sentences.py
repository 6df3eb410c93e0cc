"""sentence-transformers on torch: reads texts as one line of JSON, then embeds them all at every further line."""

import json
import os
import sys
import time


def main() -> None:
    begun = time.perf_counter()
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    model = SentenceTransformer(sys.argv[1], device="cpu")
    model.max_seq_length = 256
    model.encode(["The first run."])
    print(json.dumps(time.perf_counter() - begun), flush=True)
    texts = json.loads(sys.stdin.readline())
    for line in sys.stdin:
        asked = texts if line.strip() == "all" else texts[:1]
        begun = time.perf_counter()
        vectors = model.encode(asked, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
        taken = time.perf_counter() - begun
        print(json.dumps([taken, vectors[0].tolist()]), flush=True)


if __name__ == "__main__":
    main()
