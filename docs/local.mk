# texts to read, installed beside README
dist_doc_DATA += %D%/tutorial %D%/perf-options
dist_doc_DATA += %D%/report.svg
EXTRA_DIST += %D%/screenshot
