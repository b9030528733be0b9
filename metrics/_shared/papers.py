# SPDX-License-Identifier: Apache-2.0
"""The papers that several metrics are from, as BibTeX."""

CRUD_RAG = """\
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
"""
OMNIEVAL = """\
@inproceedings{wang2025omnieval,
  title     = {{OmniEval}: An Omnidirectional and Automatic {RAG} Evaluation Benchmark in Financial Domain},
  author    = {Wang, Shuting and Tan, Jiejun and Dou, Zhicheng and Wen, Ji-Rong},
  booktitle = {Proceedings of the 2025 Conference on Empirical Methods in Natural Language Processing},
  pages     = {5737--5762},
  year      = {2025},
  url       = {https://arxiv.org/abs/2412.13018}
}
"""
