# SPDX-License-Identifier: Apache-2.0
"""The papers that the metrics are from, as BibTeX, with the addresses of their code and of the preprint."""

from typing import NamedTuple


class Paper(NamedTuple):
    """A paper's entry and addresses."""

    citation: str
    code: str
    address: str


CRAG = Paper(
    """\
@inproceedings{yang2024crag,
  title     = {{CRAG} -- Comprehensive {RAG} Benchmark},
  author    = {Yang, Xiao and Sun, Kai and Xin, Hao and Sun, Yushi and Bhalla, Nikita and Chen, Xiangsen and others},
  booktitle = {Advances in Neural Information Processing Systems 37, Datasets and Benchmarks Track},
  year      = {2024},
  url       = {https://arxiv.org/abs/2406.04744}
}
""",
    "https://github.com/facebookresearch/CRAG",
    "https://arxiv.org/abs/2406.04744",
)
CRUD_RAG = Paper(
    """\
@article{lyu2025crud,
  title   = {{CRUD-RAG}: A Comprehensive {Chinese} Benchmark for Retrieval-Augmented Generation of Large Language
             Models},
  author  = {Lyu, Yuanjie and Li, Zhiyu and Niu, Simin and Xiong, Feiyu and Tang, Bo and Wang, Wenjin and Wu, Hao and
             Liu, Huanyong and Xu, Tong and Chen, Enhong},
  journal = {ACM Transactions on Information Systems},
  volume  = {43},
  number  = {2},
  year    = {2025},
  doi     = {10.1145/3701228}
}
""",
    "https://github.com/IAAR-Shanghai/CRUD_RAG",
    "https://arxiv.org/abs/2401.17043",
)
OMNIEVAL = Paper(
    """\
@inproceedings{wang2025omnieval,
  title     = {{OmniEval}: An Omnidirectional and Automatic {RAG} Evaluation Benchmark in Financial Domain},
  author    = {Wang, Shuting and Tan, Jiejun and Dou, Zhicheng and Wen, Ji-Rong},
  booktitle = {Proceedings of the 2025 Conference on Empirical Methods in Natural Language Processing},
  pages     = {5737--5762},
  year      = {2025},
  url       = {https://arxiv.org/abs/2412.13018}
}
""",
    "https://github.com/RUC-NLPIR/OmniEval",
    "https://arxiv.org/abs/2412.13018",
)
RGB = Paper(
    """\
@inproceedings{chen2024benchmarking,
  title     = {Benchmarking Large Language Models in Retrieval-Augmented Generation},
  author    = {Chen, Jiawei and Lin, Hongyu and Han, Xianpei and Sun, Le},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  volume    = {38},
  number    = {16},
  pages     = {17754--17762},
  year      = {2024}
}
""",
    "https://github.com/chen700564/RGB",
    "https://arxiv.org/abs/2309.01431",
)
