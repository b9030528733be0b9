# SPDX-License-Identifier: Apache-2.0
"""The papers that several metrics are from, as BibTeX."""

CRUD_RAG = """\
@article{lyu2024crud,
  title   = {{CRUD-RAG}: A Comprehensive Chinese Benchmark for Retrieval-Augmented Generation of Large Language Models},
  author  = {Lyu, Yuanjie and Li, Zhiyu and Niu, Simin and Xiong, Feiyu and Tang, Bo and Wang, Wenjin and Wu, Hao
             and Liu, Huanyong and Xu, Tong and Chen, Enhong},
  journal = {ACM Transactions on Information Systems},
  year    = {2024},
  doi     = {10.1145/3701228}
}
"""
OMNIEVAL = """\
@article{wang2024omnieval,
  title   = {{OmniEval}: An Omnidirectional and Automatic {RAG} Evaluation Benchmark in Financial Domain},
  author  = {Wang, Shuting and Tan, Jiejun and Dou, Zhicheng and Wen, Ji-Rong},
  journal = {arXiv preprint arXiv:2412.13018},
  year    = {2024}
}
"""
