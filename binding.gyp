{
  'variables': {
    'core_sources': [
      'src-native/base/status.cc',
      'src-native/checksum/crc32c.cc',
      'src-native/checksum/crc32c_table.cc',
      'src-native/record/record_codec.cc',
      'src-native/record/segment_header.cc',
      'src-native/record/segment_name.cc',
      'src-native/segment/chunk.cc',
      'src-native/segment/cut.cc',
      'src-native/segment/data_map.cc',
      'src-native/segment/mapped_tail.cc',
      'src-native/segment/open_segment.cc',
      'src-native/segment/read_window.cc',
      'src-native/segment/scanner.cc',
      'src-native/segment/segment.cc',
      'src-native/recovery/apply.cc',
      'src-native/recovery/identity.cc',
      'src-native/recovery/log_files.cc',
      'src-native/recovery/plan.cc',
      'src-native/recovery/report.cc',
      'src-native/live/live_bell.cc',
      'src-native/live/live_page_reader.cc',
      'src-native/live/live_page_writer.cc',
      'src-native/live/live_watcher.cc',
      'src-native/read/cursor.cc',
      'src-native/read/cursor_damage.cc',
      'src-native/read/point_reader.cc',
      'src-native/read/position_index.cc',
      'src-native/read/record_lookup.cc',
      'src-native/inspect/bounds.cc',
      'src-native/inspect/frames.cc',
      'src-native/inspect/repair.cc',
      'src-native/inspect/verify.cc',
      'src-native/log/append.cc',
      'src-native/log/commit_job.cc',
      'src-native/log/group_commit.cc',
      'src-native/log/log.cc',
      'src-native/log/mapped_append.cc',
      'src-native/log/open.cc',
      'src-native/log/rotate.cc',
      'src-native/log/segment_chain.cc',
      'src-native/log/staging.cc',
      'src-native/log/sync_backlog.cc',
      'src-native/log/trim_job.cc',
      'src-native/log/truncate_job.cc',
      'src-native/log/write_policy.cc',
    ],
    'node_addon_api': '<!(node -p "path.dirname(require.resolve(\'node-addon-api\'))")',
    # Files, not conditionals inside them, differ between systems.
    'conditions': [
      ['OS=="win"', {
        'platform_sources': ['<!@(node scripts/platform-sources.mjs windows <(target_arch))'],
      }, {
        'platform_sources': ['<!@(node scripts/platform-sources.mjs <(OS) <(target_arch))'],
      }],
    ],
  },
  'target_defaults': {
    'include_dirs': ['src-native'],
    'defines': [
      'NAPI_VERSION=8',
      'NODE_ADDON_API_DISABLE_DEPRECATED',
      'NODE_ADDON_API_DISABLE_CPP_EXCEPTIONS',
      'NODE_API_NO_EXTERNAL_BUFFERS_ALLOWED',
      'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS',
    ],
    'cflags_cc': [
      '-std=c++17', '-O2', '-fvisibility=hidden', '-fno-exceptions',
      '-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Wconversion', '-Werror',
      # As system headers: the warnings are for our own code.
      '-isystem', '<(node_addon_api)',
    ],
    'cflags_cc!': ['-std=gnu++17', '-std=gnu++20', '-O3', '-fno-rtti'],
    'conditions': [
      # dladdr, before glibc 2.34.
      ['OS=="linux"', { 'libraries': ['-ldl'] }],
      ['OS=="mac"', { 'include_dirs': ['<(node_addon_api)'] }],
      ['OS=="win"', {
        'include_dirs': ['<(node_addon_api)'],
        'defines': ['NOMINMAX'],
        # The checksum's instruction sets are chosen by attributes that cl.exe has not.
        'msbuild_toolset': 'ClangCL',
      }],
    ],
    'xcode_settings': {
      'CLANG_CXX_LANGUAGE_STANDARD': 'c++17',
      'GCC_SYMBOLS_PRIVATE_EXTERN': 'YES',
      'MACOSX_DEPLOYMENT_TARGET': '11.0',
    },
    'msvs_settings': {
      'VCCLCompilerTool': { 'AdditionalOptions': ['/std:c++17', '/W4'] },
    },
  },
  'targets': [
    {
      'target_name': 'durlog_core',
      'type': 'static_library',
      'sources': ['<@(core_sources)', '<@(platform_sources)'],
    },
    {
      'target_name': 'durlog',
      'dependencies': ['durlog_core'],
      'sources': [
        'src-native/napi/addon.cc',
        'src-native/napi/async_task.cc',
        'src-native/napi/convert.cc',
        'src-native/napi/convert_error.cc',
        'src-native/napi/cursor_wrap.cc',
        'src-native/napi/live_page_watch.cc',
        'src-native/napi/live_page_wrap.cc',
        'src-native/napi/log_handle.cc',
        'src-native/napi/log_wrap.cc',
        'src-native/napi/point_reader_wrap.cc',
      ],
    },
    {
      # The raw system calls that `durlog bench` compares with. The package itself never loads it.
      'target_name': 'durlog_bench',
      'dependencies': ['durlog_core'],
      'conditions': [
        ['OS=="linux"', {
          'sources': [
            'src-native/bench/append_writers.cc',
            'src-native/bench/baseline_linux.cc',
            'src-native/bench/bench_addon.cc',
            'src-native/bench/checksum_speed.cc',
            'src-native/bench/io_uring_ring.cc',
            'src-native/bench/mapped_writer.cc',
            'src-native/bench/positioned_writers.cc',
            'src-native/bench/random_write.cc',
            'src-native/bench/random_write_threads.cc',
            'src-native/bench/random_write_uring.cc',
            'src-native/bench/record_pattern.cc',
            'src-native/bench/scratch_file.cc',
          ],
        }, {
          'sources': ['src-native/bench/bench_addon_unsupported.cc'],
        }],
      ],
    },
  ],
}
