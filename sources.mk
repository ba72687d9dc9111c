# The sources of the library and of the command, a list per folder, in the order of the house.

base_sources = \
	src/base/cgroup.c src/base/cgroup.h src/base/clock.h src/base/convert.c src/base/convert.h src/base/deadline.c src/base/deadline.h src/base/digest.c src/base/digest.h src/base/durations.c src/base/durations.h \
	src/base/error.c src/base/error.h src/base/interrupt.c src/base/interrupt.h \
	src/base/file.c src/base/file.h src/base/health.c src/base/health.h src/base/machine.c src/base/machine.h src/base/mem.c \
	src/base/mem.h src/base/parallel.c src/base/parallel.h src/base/priority.c src/base/priority.h src/base/protobuf.c \
	src/base/protobuf.h src/base/rng.h src/base/round.h src/base/signals.c src/base/signals.h src/base/stats.c \
	src/base/stats.h src/base/tensor.c src/base/tensor.h src/base/units.c src/base/units.h src/base/utf8.c src/base/utf8.h \
	src/base/version.c

onnx_sources = \
	src/onnx/attr.c src/onnx/external.c src/onnx/external.h src/onnx/file.c src/onnx/file.h \
	src/onnx/model.c src/onnx/model.h src/onnx/skeleton.c src/onnx/skeleton.h src/onnx/tensor.c \
	src/onnx/unpack.c

metrics_sources = \
	src/metrics/exposition.c src/metrics/exposition.h src/metrics/process.c src/metrics/process.h
# Of programs, not of the library.
server_sources = \
	src/metrics/address.c src/metrics/address.h src/metrics/server.c src/metrics/server.h

ir_sources = \
	src/ir/aliasing.c src/ir/aliasing.h src/ir/check.c src/ir/check.h src/ir/copy.c src/ir/ends.c \
	src/ir/ends.h src/ir/graph.c \
	src/ir/graph.h src/ir/operators.c src/ir/operators.h src/ir/picture.c src/ir/picture.h \
	src/ir/readers.c src/ir/readers.h \
	src/ir/partial.c src/ir/partial.h src/ir/quantised.c src/ir/quantised.h src/ir/verify.c src/ir/weight.c src/ir/weight.h src/ir/whole.c src/ir/whole.h \
	src/ir/whole_axis.c src/ir/whole_elementwise.c src/ir/whole_gather.c src/ir/whole_movement.c \
	src/ir/whole_quantised.c src/ir/whole_rules.h src/ir/winograd.c src/ir/winograd.h

import_sources = \
	src/import/channels_last.c src/import/constant.c src/import/conv.c src/import/depth_last.c src/import/elementwise.c \
	src/import/facts.c src/import/fold.c src/import/gemm.c src/import/idioms.c src/import/if.c src/import/import.c \
	src/import/import.h src/import/internal.h src/import/lower.c src/import/lower_depth.c \
	src/import/lower_finish.c src/import/lower_internal.h src/import/lower_permute.c \
	src/import/lower_pieces.c src/import/lower_quantised.c src/import/lower_weights.c src/import/names.c src/import/normalise.c \
	src/import/operators.c src/import/operators.h src/import/pool.c src/import/integer.c src/import/qlinear.c src/import/quantise.c src/import/reduce.c \
	src/import/resample.c src/import/resize.c src/import/shape.c src/import/simplify.c \
	src/import/value.c src/import/whole.c src/import/whole_bounds.c src/import/whole_computed.c src/import/whole_copy.c \
	src/import/whole_form.c src/import/whole_form.h src/import/window.c src/import/window.h

blocks_sources = \
	src/blocks/blocks.c src/blocks/blocks.h

cost_sources = \
	src/cost/algorithm.c src/cost/algorithm.h src/cost/board.c src/cost/board.h src/cost/cluster.c src/cost/cluster.h \
	src/cost/cluster_file.c src/cost/cluster_grow.c src/cost/cost.c src/cost/cost.h src/cost/encoding.c \
	src/cost/encoding.h src/cost/ini_edit.c src/cost/ini_edit.h src/cost/ini_file.c src/cost/ini_file.h src/cost/shape.c src/cost/shape.h \
	src/cost/shapes.c

fusion_sources = \
	src/fusion/depth_to_space.c src/fusion/operands.c \
	src/fusion/reads.c src/fusion/reads.h src/fusion/region.c src/fusion/region.h \
	src/fusion/resample.c src/fusion/resample.h src/fusion/rules.c src/fusion/rules.h \
	src/fusion/set.c src/fusion/space_to_depth.c src/fusion/window.c

schedule_sources = \
	src/schedule/aliasing.c src/schedule/aliasing.h src/schedule/arrivals.c src/schedule/arrivals.h \
	src/schedule/chunks.c src/schedule/chunks.h src/schedule/clocks.h src/schedule/context.c \
	src/schedule/context.h src/schedule/cut.c src/schedule/cut.h src/schedule/dependencies.c \
	src/schedule/dependencies.h src/schedule/edges.c src/schedule/edges.h src/schedule/emit.c \
	src/schedule/emit.h src/schedule/energy.c src/schedule/energy.h src/schedule/estimate.c src/schedule/estimate.h src/schedule/graph_order.c \
	src/schedule/graph_order.h src/schedule/internal.h src/schedule/ints.h src/schedule/lower.c \
	src/schedule/lowering.h src/schedule/memo.c src/schedule/memo.h src/schedule/memory.c \
	src/schedule/order.c src/schedule/order.h src/schedule/pieces.c src/schedule/pieces.h \
	src/schedule/router.c src/schedule/router.h src/schedule/routes.c src/schedule/routes.h \
	src/schedule/schedule.c src/schedule/schedule.h src/schedule/score.c src/schedule/simulate.c \
	src/schedule/stream.c src/schedule/stream.h \
	src/schedule/transfers.c src/schedule/transfers.h src/schedule/verify.c

search_sources = \
	src/search/context.c src/search/context.h src/search/eval.c src/search/eval.h \
	src/search/layout.c src/search/layout.h src/search/layout_memo.c src/search/layout_memo.h \
	src/search/layout_regions.c src/search/layout_regions.h src/search/problem.c \
	src/search/problem.h src/search/result.c src/search/result.h src/search/trial.c src/search/trial.h

search_pareto_sources = \
	src/search/pareto/archive.c src/search/pareto/archive.h src/search/pareto/pareto.c \
	src/search/pareto/pareto.h

search_paper_sources = \
	src/search/paper/adaps.c src/search/paper/adaps.h src/search/paper/bound.c \
	src/search/paper/levels.c src/search/paper/model.c src/search/paper/model.h \
	src/search/paper/pairs.c src/search/paper/pairs.h src/search/paper/paper.c \
	src/search/paper/paper.h src/search/paper/polish.c src/search/paper/tree.c

search_published_sources = \
	src/search/published/aofl.c \
	src/search/published/dpfp.c \
	src/search/published/flexpie.c \
	src/search/published/fused_groups.c src/search/published/fused_groups.h \
	src/search/published/fused_model.c src/search/published/fused_model.h \
	src/search/published/bands.c \
	src/search/published/bbgrap.c src/search/published/chain.c \
	src/search/published/chain.h src/search/published/coedge.c \
	src/search/published/collaborative.c src/search/published/collaborative.h src/search/published/deeperthings.c src/search/published/deeperthings.h src/search/published/deepslicing.c src/search/published/defer.c src/search/published/deepthings.c \
	src/search/published/dn2pciot.c src/search/published/kernighan_lin.c src/search/published/kernighan_lin.h src/search/published/work_graph.c src/search/published/work_graph.h \
	src/search/published/work_ops.c src/search/published/work_ops.h src/search/published/work_state.c src/search/published/work_state.h \
	src/search/published/edgeci.c src/search/published/edgeci.h \
	src/search/published/edgeflow.c src/search/published/edgeflow.h \
	src/search/published/edgeflow_lp.c src/search/published/halp.c \
	src/search/published/halp.h src/search/published/modnn.c \
	src/search/published/pico.c src/search/published/pico.h src/search/published/pico_pieces.c \
	src/search/published/published.h src/search/published/ranges.c src/search/published/ranges.h \
	src/search/published/single.c

search_auto_sources = \
	src/search/auto/anneal.c src/search/auto/anneal.h src/search/auto/auto.c \
	src/search/auto/auto.h src/search/auto/critical_path.c src/search/auto/critical_path.h \
	src/search/auto/elite.c src/search/auto/elite.h src/search/auto/join.c \
	src/search/auto/join.h src/search/auto/layers.c src/search/auto/layers.h \
	src/search/auto/moves.c src/search/auto/moves.h \
	src/search/auto/patterns.c src/search/auto/patterns.h src/search/auto/starts.c \
	src/search/auto/starts.h src/search/auto/subset.c src/search/auto/subset.h \
	src/search/auto/templates.c src/search/auto/templates.h

search_exact_sources = \
	src/search/exact/choices.c src/search/exact/choices.h src/search/exact/exhaustive.c \
	src/search/exact/exhaustive.h

search_given_sources = \
	src/search/given/json_file.c src/search/given/json_file.h src/search/given/layout_file.c \
	src/search/given/layout_file.h src/search/given/mapping.c src/search/given/mapping.h \
	src/search/given/mapping_layout.c src/search/given/mapping_layout.h \
	src/search/given/platform.c src/search/given/platform.h

quantise_sources = \
	src/quantise/edit.c src/quantise/edit.h src/quantise/fold.c src/quantise/quantise.c src/quantise/quantise.h \
	src/quantise/ranges.c src/quantise/ranges.h src/quantise/uses.c

split_sources = \
	src/split/rules.c src/split/rules.h src/split/split.c src/split/split.h src/split/write.c

search_bound_sources = \
	src/search/bound/bound.c src/search/bound/bound.h src/search/bound/cut.c \
	src/search/bound/cut.h src/search/bound/links.c src/search/bound/links.h \
	src/search/bound/work.c src/search/bound/work.h

search_stream_sources = \
	src/search/stream/fit.c src/search/stream/fit.h src/search/stream/groups.c src/search/stream/groups.h src/search/stream/judge.c src/search/stream/judge.h src/search/stream/pack.c src/search/stream/pack.h src/search/stream/stream.h \
	src/search/stream/throughput.c src/search/stream/turns.c src/search/stream/turns.h

search_strategies_sources = \
	src/search/strategies/compare.c src/search/strategies/compare.h \
	src/search/strategies/link_encodings.c src/search/strategies/link_encodings.h \
	src/search/strategies/search.c src/search/strategies/search.h \
	src/search/strategies/table.c

plan_sources = \
	src/plan/internal.h src/plan/link_probe.c src/plan/pack.c src/plan/plan.c \
	src/plan/plan.h src/plan/slices.c src/plan/spares.c src/plan/spares.h \
	src/plan/step_text.c src/plan/step_text.h src/plan/tasks.c \
	src/plan/unpack.c src/plan/unpack.h src/plan/unpack_graph.c src/plan/weight_source.c \
	src/plan/weight_source.h

wire_sources = \
	src/wire/avahi.c src/wire/avahi.h \
	src/wire/allow_edit.c src/wire/allow_edit.h \
	src/wire/endpoint.c src/wire/endpoint.h src/wire/frame.c src/wire/frame.h src/wire/guard.c src/wire/guard.h src/wire/live.c src/wire/live.h \
	src/wire/keys.c src/wire/keys.h src/wire/path.c src/wire/path.h src/wire/resolve.c src/wire/resolve.h \
	src/wire/socket.c src/wire/socket.h src/wire/wire.c src/wire/wire.h \
	src/wire/visitors.c src/wire/visitors.h src/wire/zap.c src/wire/zap.h

exec_kernels_sources = \
	src/exec/kernels/choice.c src/exec/kernels/choice.h src/exec/kernels/conv.c src/exec/kernels/conv.h src/exec/kernels/conv_avx512.c \
	src/exec/kernels/conv_base.c src/exec/kernels/conv_fma3.c src/exec/kernels/conv_kernel.h \
	src/exec/kernels/conv_neon.c src/exec/kernels/conv_tile.h \
	src/exec/kernels/depthwise.c src/exec/kernels/depthwise.h src/exec/kernels/depthwise_avx512.c \
	src/exec/kernels/depthwise_fma3.c src/exec/kernels/depthwise_kernel.h \
	src/exec/kernels/depthwise_tile.h src/exec/kernels/elementwise.c \
	src/exec/kernels/encode.c src/exec/kernels/encode.h \
	src/exec/kernels/functions_tile.h src/exec/kernels/half.c src/exec/kernels/half.h \
	src/exec/kernels/instruction_set.h src/exec/kernels/kernels.c src/exec/kernels/kernels.h \
	src/exec/kernels/l2.c src/exec/kernels/l2.h src/exec/kernels/lanes.h src/exec/kernels/packed.c \
	src/exec/kernels/packed.h src/exec/kernels/picture.c src/exec/kernels/picture.h src/exec/kernels/product.c src/exec/kernels/product.h \
	src/exec/kernels/q8.c src/exec/kernels/q8.h src/exec/kernels/q8_conv.c src/exec/kernels/q8_conv.h \
	src/exec/kernels/q8_conv_avx2.c src/exec/kernels/q8_conv_avx512.c src/exec/kernels/q8_conv_avxvnni.c \
	src/exec/kernels/q8_conv_base.c src/exec/kernels/q8_conv_dot.c src/exec/kernels/q8_conv_kernel.h \
	src/exec/kernels/q8_conv_neon.c src/exec/kernels/q8_conv_tile.h src/exec/kernels/q8_conv_two.h \
	src/exec/kernels/q8_depthwise.c src/exec/kernels/q8_depthwise.h src/exec/kernels/q8_depthwise_avx2.c \
	src/exec/kernels/q8_depthwise_avx512.c src/exec/kernels/q8_depthwise_avxvnni.c \
	src/exec/kernels/q8_depthwise_base.c src/exec/kernels/q8_depthwise_dot.c src/exec/kernels/q8_depthwise_half.c \
	src/exec/kernels/q8_depthwise_kernel.h src/exec/kernels/q8_depthwise_neon.c src/exec/kernels/q8_depthwise_tile.h \
	src/exec/kernels/q8_depthwise_arm.h src/exec/kernels/q8_depthwise_x86.h \
	src/exec/kernels/q8_lanes.h src/exec/kernels/q8_pack.c src/exec/kernels/q8_pack.h \
	src/exec/kernels/q8_pool.c src/exec/kernels/q8_product.c src/exec/kernels/q8_product.h src/exec/kernels/q8_resample.c src/exec/kernels/q8_resample.h src/exec/kernels/q8_rows.c \
	src/exec/kernels/q8_rows.h src/exec/kernels/q8_rows_avx2.c src/exec/kernels/q8_rows_avx512.c \
	src/exec/kernels/q8_rows_kernel.h src/exec/kernels/q8_rows_tile.h src/exec/kernels/q8_x86.h \
	src/exec/kernels/reduce.c src/exec/kernels/reduce.h src/exec/kernels/resample.c \
	src/exec/kernels/resample.h src/exec/kernels/rows.c src/exec/kernels/rows.h \
	src/exec/kernels/rows_avx2.c src/exec/kernels/rows_avx512.c src/exec/kernels/rows_tile.h \
	src/exec/kernels/softmax.c src/exec/kernels/softmax.h src/exec/kernels/softmax_avx2.c \
	src/exec/kernels/softmax_avx512.c src/exec/kernels/softmax_tile.h \
	src/exec/kernels/span.c src/exec/kernels/span.h src/exec/kernels/taps.h \
	src/exec/kernels/vec.h src/exec/kernels/whole.c src/exec/kernels/whole.h \
	src/exec/kernels/whole_axis.c src/exec/kernels/whole_elementwise.c src/exec/kernels/whole_gather.c \
	src/exec/kernels/whole_internal.h src/exec/kernels/whole_movement.c src/exec/kernels/whole_nms.c \
	src/exec/kernels/whole_conv.c src/exec/kernels/whole_open.c src/exec/kernels/whole_product.c src/exec/kernels/whole_quantised.c \
	src/exec/kernels/whole_reduce.c src/exec/kernels/whole_unary.c \
	src/exec/kernels/wide.c src/exec/kernels/wide.h \
	src/exec/kernels/wide_avx2.c src/exec/kernels/wide_avx512.c src/exec/kernels/wide_tile.h \
	src/exec/kernels/winograd.c src/exec/kernels/winograd.h src/exec/kernels/winograd_kernel.h \
	src/exec/kernels/winograd_tile.h src/exec/kernels/xnn.c src/exec/kernels/xnn.h

exec_engine_sources = \
	src/exec/engine/actions.c src/exec/engine/actions.h src/exec/engine/bands.c \
	src/exec/engine/bands.h src/exec/engine/buffers.c \
	src/exec/engine/concat.c src/exec/engine/engine.c src/exec/engine/engine.h \
	src/exec/engine/internal.h src/exec/engine/local_run.c src/exec/engine/local_run.h \
	src/exec/engine/memory.c src/exec/engine/memory.h src/exec/engine/operands.c \
	src/exec/engine/operators.c src/exec/engine/residual.c src/exec/engine/task.c src/exec/engine/whole.c \
	src/exec/engine/whole.h \
	src/exec/engine/task_conv.c src/exec/engine/task_quantised.c src/exec/engine/task_xnn.c src/exec/engine/throttle.c \
	src/exec/engine/throttle.h src/exec/engine/timestamps.c src/exec/engine/timestamps.h

exec_agent_sources = \
	src/exec/agent/agent.c src/exec/agent/agent.h src/exec/agent/announce.c src/exec/agent/announce.h src/exec/agent/answer.c src/exec/agent/answer.h \
	src/exec/agent/answer_profile.c src/exec/agent/cache.c src/exec/agent/cache.h \
	src/exec/agent/cache_internal.h src/exec/agent/cache_room.c src/exec/agent/cache_upload.c \
	src/exec/agent/ceiling.c src/exec/agent/ceiling.h src/exec/agent/door.c src/exec/agent/errands.c src/exec/agent/errands.h \
	src/exec/agent/internal.h src/exec/agent/line.c src/exec/agent/line.h src/exec/agent/live.c src/exec/agent/live.h src/exec/agent/live_metrics.c src/exec/agent/notify.c src/exec/agent/notify.h src/exec/agent/outgoing.c src/exec/agent/outgoing.h \
	src/exec/agent/peer_links.c src/exec/agent/peer_links.h src/exec/agent/profile.c \
	src/exec/agent/profile.h src/exec/agent/profile_request.c src/exec/agent/profile_request.h src/exec/agent/send_scheduler.c src/exec/agent/send_scheduler.h \
	src/exec/agent/session.c src/exec/agent/speeds.c src/exec/agent/speeds.h src/exec/agent/store.c src/exec/agent/turn.c src/exec/agent/worker.c \
	src/exec/agent/worker.h

control_sources = \
	src/control/counts.c src/control/counts.h \
	src/control/discover.c src/control/discover.h \
	src/control/drift.c src/control/drift.h src/control/found.c src/control/found.h src/control/link_watch.c src/control/link_watch.h src/control/post_mortem.c src/control/probe.c src/control/probe.h src/control/probe_links.c \
	src/control/push.c src/control/query.c src/control/recovery.c src/control/recovery.h \
	src/control/remote.c src/control/remote.h \
	src/control/run.c src/control/session.c src/control/session.h src/control/session_internal.h \
	src/control/trace.c src/control/trace.h src/control/turn.c src/control/turn.h

report_sources = \
	src/report/compare.c src/report/critical.c src/report/dot.c src/report/figures.c \
	src/report/figures.h src/report/inspect.c src/report/json.c \
	src/report/json.h src/report/messages.c src/report/messages.h src/report/pareto.c src/report/pareto_svg.c src/report/plan.c \
	src/report/plan_json.c src/report/predict.c src/report/predict.h src/report/report.h \
	src/report/simulation.c src/report/simulation.h src/report/steps.c src/report/stream.c src/report/stream.h src/report/svg.c \
	src/report/text.c src/report/text.h src/report/trace.c

report_page_sources = \
	src/report/page/data.c src/report/page/internal.h src/report/page/layers.c src/report/page/map.c src/report/page/maps.c \
	src/report/page/overview.c src/report/page/page.c src/report/page/page.h src/report/page/steps.c src/report/page/stream.c \
	src/report/page/summary.c src/report/page/text.c src/report/page/timeline.c

pair_sources = \
	src/pair/board.c src/pair/board.h src/pair/conf.c src/pair/conf.h src/pair/ssh.c src/pair/ssh.h \
	src/pair/target.c src/pair/target.h

io_sources = \
	src/io/file_kind.c src/io/file_kind.h \
	src/io/camera.h src/io/frames.c src/io/frames.h src/io/frames_camera.c src/io/frames_files.c \
	src/io/frames_folder.c src/io/frames_internal.h src/io/frames_pipe.c src/io/image.c src/io/image.h \
	src/io/image_formats.c src/io/image_internal.h src/io/mjpeg.c src/io/npy.c src/io/npy.h \
	src/io/raw.c src/io/raw.h src/io/samples.c src/io/samples.h src/io/stb.c src/io/stb.h src/io/tensor_io.c\
	src/io/tensor_io.h

vision_sources = \
	src/vision/decode.c src/vision/decode.h src/vision/decode_boxes.c src/vision/decode_grid.c \
	src/vision/decode_yolo.c src/vision/detection.c src/vision/detection.h src/vision/draw.c \
	src/vision/draw.h src/vision/element.h src/vision/font.c src/vision/font.h src/vision/head.c \
	src/vision/head.h src/vision/labels.c src/vision/labels.h src/vision/letterbox.c \
	src/vision/letterbox.h src/vision/mask.c src/vision/mask.h src/vision/preset.c src/vision/preset.h \
	src/vision/semantic.c src/vision/semantic.h src/vision/suppress.c src/vision/suppress.h \
	src/vision/top.c src/vision/top.h src/vision/vision.c src/vision/vision.h

doctor_sources = \
	src/doctor/check_machine.c src/doctor/check_memory.c src/doctor/check_network.c src/doctor/check_reach.c \
	src/doctor/check_time.c src/doctor/doctor.c src/doctor/doctor.h src/doctor/judge.h src/doctor/patient.h \
	src/doctor/reach.c src/doctor/reach.h

serve_sources = \
	src/serve/frigate.c src/serve/frigate.h src/serve/server.c src/serve/server.h

cli_sources = \
	$(server_sources) \
	src/cli/agent.c src/cli/agent_options.c src/cli/agent_options.h src/cli/answer.c src/cli/answer.h src/cli/bench.c src/cli/bench.h \
	src/cli/bench_refine.c src/cli/bench_report.c src/cli/bench_run.c src/cli/cli.h src/cli/common.c \
	src/cli/deployment.c src/cli/deployment.h src/cli/devices.c src/cli/devices.h src/cli/dim_option.c src/cli/dim_option.h src/cli/doctor.c src/cli/doctor_examine.c src/cli/doctor_internal.h src/cli/doctor_report.c src/cli/completion.c src/cli/completion.h src/cli/discover.c \
	src/cli/inspect.c src/cli/inspect_operators.c src/cli/inspect_operators.h src/cli/keygen.c src/cli/live_json.c src/cli/live_json.h src/cli/local.c src/cli/main.c src/cli/messages.c src/cli/metrics_option.c src/cli/metrics_option.h src/cli/options.c \
	src/cli/options.h src/cli/pair.c src/cli/pair_internal.h src/cli/pair_manual.c src/cli/pair_measure.c src/cli/pairing.c src/cli/pairing.h src/cli/plan.c src/cli/plan_cache.c src/cli/plan_cache.h src/cli/plan_options.c src/cli/plan_options.h \
	src/cli/profile.c src/cli/profile_internal.h src/cli/profile_ops.c src/cli/profile_report.c src/cli/model_run.c src/cli/model_run.h src/cli/quantize.c \
	src/cli/profile_samples.c src/cli/profile_write.c src/cli/progress.c src/cli/progress.h \
	src/cli/push.c src/cli/run.c src/cli/run_internal.h src/cli/run_options.c \
	src/cli/run_adaptations.c src/cli/run_options.h src/cli/run_report.c src/cli/serve.c src/cli/show.c src/cli/simulate.c src/cli/split.c \
	src/cli/status.c src/cli/unpair.c src/cli/verify.c src/cli/classify.c src/cli/detect.c src/cli/segment.c \
	src/cli/vision_found.c src/cli/vision_network.c src/cli/vision_network.h src/cli/vision_options.c src/cli/vision_options.h src/cli/top.c src/cli/top_screen.c src/cli/top_screen.h src/cli/top_view.c src/cli/top_view.h src/cli/top_watch.c src/cli/top_watch.h \
	src/cli/vision_run.c src/cli/vision_run.h

# The daemon, a program of its own.
agent_sources = \
	src/cli/agent_config.c src/cli/agent_config.h src/cli/agent_keys.c src/cli/agent_keys.h src/cli/agent_main.c src/cli/agent_options.c \
	src/cli/agent_options.h src/cli/cli.h src/cli/cpu_info.c src/cli/cpu_info.h src/cli/messages.c src/cli/options.c src/cli/options.h $(server_sources)
