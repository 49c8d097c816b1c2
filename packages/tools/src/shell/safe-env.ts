import { delimiter, isAbsolute } from 'node:path';
import type { TraceContext } from '@millrace/core';
import { isInside } from '../workspace/match-path.ts';

/** The environment variables that a command gets. */
export interface ShellEnv {
  /** The names of additional variables to pass to commands, even if they look like secrets. Default: none. */
  readonly allow?: readonly string[] | undefined;
  /** Variables to set, regardless of their names. Default: none. */
  readonly set?: Readonly<Record<string, string>> | undefined;
}

/** The variables that commands get, in the same groups as in the README. */
const passedNames: readonly string[] = [
  // Variables of the user, the terminal and the system.
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'USERNAME', 'SHELL', 'HOSTNAME', 'PWD', 'TMPDIR', 'TMP'],
  ...['TEMP', 'TZ', 'UMASK', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'MANPATH', 'INFOPATH'],
  ...['XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_CACHE_HOME', 'XDG_STATE_HOME', 'XDG_DATA_DIRS'],
  ...['XDG_CONFIG_DIRS', 'SYSTEMROOT', 'COMSPEC', 'PATHEXT', 'WINDIR', 'APPDATA', 'LOCALAPPDATA'],
  // Variables for language and appearance.
  ...['LANG', 'LANGUAGE', 'TERM', 'COLORTERM', 'TERM_PROGRAM', 'COLUMNS', 'LINES', 'NO_COLOR'],
  ...['FORCE_COLOR', 'CLICOLOR', 'CLICOLOR_FORCE', 'EDITOR', 'VISUAL', 'PAGER', 'LS_COLORS'],
  // Variables with the installation folders of compilers and tools.
  ...[
    'NVM_DIR',
    'NVM_BIN',
    'FNM_DIR',
    'FNM_MULTISHELL_PATH',
    'VOLTA_HOME',
    'PNPM_HOME',
    'N_PREFIX',
  ],
  ...['BUN_INSTALL', 'DENO_DIR', 'DENO_INSTALL', 'NODE_PATH', 'NODE_ENV', 'COREPACK_HOME'],
  ...['CARGO_HOME', 'RUSTUP_HOME', 'RUSTUP_TOOLCHAIN', 'CARGO_TARGET_DIR', 'RUSTFLAGS'],
  ...['RUST_BACKTRACE', 'GOPATH', 'GOROOT', 'GOBIN', 'GOCACHE', 'GOMODCACHE', 'GOFLAGS'],
  ...[
    'GOTOOLCHAIN',
    'CGO_ENABLED',
    'JAVA_HOME',
    'JDK_HOME',
    'MAVEN_HOME',
    'M2_HOME',
    'GRADLE_HOME',
  ],
  ...['GRADLE_USER_HOME', 'KOTLIN_HOME', 'SDKMAN_DIR', 'ANDROID_HOME', 'ANDROID_SDK_ROOT'],
  ...['ANDROID_NDK_HOME', 'VIRTUAL_ENV', 'CONDA_PREFIX', 'CONDA_DEFAULT_ENV', 'CONDA_EXE'],
  ...['PYENV_ROOT', 'PYENV_VERSION', 'PYTHONPATH', 'PYTHONHOME', 'PYTHONUNBUFFERED'],
  ...[
    'PYTHONDONTWRITEBYTECODE',
    'PIPX_HOME',
    'POETRY_HOME',
    'UV_CACHE_DIR',
    'GEM_HOME',
    'GEM_PATH',
  ],
  ...['RBENV_ROOT', 'RBENV_VERSION', 'BUNDLE_PATH', 'BUNDLE_GEMFILE', 'ASDF_DIR', 'ASDF_DATA_DIR'],
  ...['MISE_DATA_DIR', 'DOTNET_ROOT', 'DOTNET_CLI_TELEMETRY_OPTOUT', 'NUGET_PACKAGES'],
  ...['COMPOSER_HOME', 'MIX_HOME', 'HEX_HOME', 'ELIXIR_ERL_OPTIONS', 'GHCUP_INSTALL_BASE_PREFIX'],
  ...['OPAMROOT', 'NIX_PATH', 'NIX_PROFILES', 'NIX_SSL_CERT_FILE', 'HOMEBREW_PREFIX'],
  ...['HOMEBREW_CELLAR', 'HOMEBREW_REPOSITORY', 'CUDA_HOME', 'CUDA_PATH', 'CUDA_VISIBLE_DEVICES'],
  // Variables for builds.
  ...['CC', 'CXX', 'CPP', 'AR', 'LD', 'CFLAGS', 'CXXFLAGS', 'CPPFLAGS', 'LDFLAGS', 'MAKEFLAGS'],
  ...['CMAKE_PREFIX_PATH', 'CMAKE_GENERATOR', 'PKG_CONFIG_PATH', 'LIBRARY_PATH', 'CPATH'],
  ...['SOURCE_DATE_EPOCH', 'CI', 'DEBIAN_FRONTEND', 'DISPLAY', 'WAYLAND_DISPLAY'],
  // Variables for the network. A proxy URL with a password is omitted.
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'FTP_PROXY', 'NO_PROXY', 'SSL_CERT_FILE'],
  ...['SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'],
  ...['GIT_SSL_CAINFO', 'PIP_INDEX_URL', 'PIP_EXTRA_INDEX_URL', 'UV_INDEX_URL', 'GOPROXY'],
  ...['GONOSUMDB', 'GOSUMDB', 'GOPRIVATE', 'NPM_CONFIG_REGISTRY', 'NPM_CONFIG_CACHE'],
  ...['NPM_CONFIG_PREFIX', 'TRACEPARENT', 'TRACESTATE'],
];
const passed: ReadonlySet<string> = new Set(passedNames);

function isPassed(name: string): boolean {
  const upper = name.toUpperCase();
  return passed.has(upper) || /^LC_[A-Z]+$/.test(upper);
}

/**
 * The patterns for names of secrets. They match whole words, so KEYBOARD and TOKENIZERS are not secrets.
 */
const secretNames: readonly RegExp[] = [
  // These words also match the end of a longer word, as in PGPASSWORD and AUTHTOKEN.
  /(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTHORIZATION)S?(?:_|$)/,
  /(?:^|_)(?:CREDS?|JWT|BEARER)(?:_|$)/,
  /(?:^|_)(?:API|ACCESS|SECRET|PRIVATE|SIGNING|ENCRYPTION)_?KEYS?(?:_|$)/,
  /(?:^|_)(?:KEY|AUTH|COOKIE|PAT|PW|AUTH_CONFIG)$|(?:^|_|SSH|DB)PASS$|_PWD$/,
  // The values of these variables usually contain a password.
  /(?:^|_)(?:DATABASE|REDIS|MONGO(?:DB)?|POSTGRES(?:QL)?|MYSQL|AMQP|SENTRY)_(?:URL|URI|DSN)$/,
  /(?:^|_)(?:CONN(?:ECTION)?_?STR(?:ING)?|WEBHOOK(?:_URL)?|HEADERS)$/,
];

/** The patterns for secret values. They apply to variables of any name. */
const secretValues: readonly RegExp[] = [
  // Matches a URL with a user name or a password.
  /(?:^|[\s,;|=])[a-z][a-z0-9+.-]*:\/\/[^/\s@]+@/i,
  /^(?:sk|rk|pk)[-_][\w-]{16,}$|^gh[a-z]_\w{20,}$|^github_pat_|^glpat-|^xox[a-z]-/,
  /^AKIA[A-Z0-9]{16}$|^AIza[\w-]{30,}$|^eyJ[\w-]{8,}\.eyJ[\w-]{8,}\./,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
];

/** True if the name or the value of a variable looks like a secret. */
export function looksSecret(name: string, value: string): boolean {
  const upper = name.toUpperCase();
  return (
    secretNames.some((form) => form.test(upper)) || secretValues.some((form) => form.test(value))
  );
}

/**
 * Returns the environment for a command: the variables of a fixed list, without values that look like
 * secrets. Then it adds the variables in `allow` and `set`. In a locale whose character set the policy does not
 * read as bash does, `LC_ALL` is `C.UTF-8`.
 */
export function safeEnv(
  own: Readonly<Record<string, string | undefined>>,
  { allow = [], set = {} }: ShellEnv = {},
): Record<string, string> {
  const given = Object.entries(own).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const kept = given.filter(
    ([name, value]) => allow.includes(name) || (isPassed(name) && !looksSecret(name, value)),
  );
  return { ...withKnownCharset(Object.fromEntries(kept)), ...set };
}

/**
 * Matches the locales whose character set is UTF-8, or has one byte for each character. In others, such as GBK and
 * BIG5, a backslash can be the second byte of a character. Bash then splits a line in another way than the policy.
 */
const knownLocale =
  /^(?:C|POSIX)?$|\.(?:utf-?8|ascii|us-ascii|iso-?8859-?\d+|koi8-?[rtu]|cp125\d)(?:@\w+)?$/i;

function withKnownCharset(env: Record<string, string>): Record<string, string> {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '';
  return knownLocale.test(locale) ? env : { ...env, LC_ALL: 'C.UTF-8' };
}

/**
 * Removes folders of the workspace and relative folders from the library paths of the environment. Otherwise
 * every command would load code of the repository.
 */
export function withoutOwnLibraries(
  env: Readonly<Record<string, string | undefined>>,
  root: string,
): Readonly<Record<string, string | undefined>> {
  const kept = ['LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH'].flatMap((name) => {
    const folders = env[name]?.split(delimiter) ?? [];
    const outside = folders.filter((folder) => isAbsolute(folder) && !isInside(root, folder));
    const value = outside.length === 0 ? undefined : outside.join(delimiter);
    return env[name] === undefined ? [] : [[name, value] as const];
  });
  return { ...env, ...Object.fromEntries(kept) };
}

type Env = Readonly<Record<string, string>>;

/**
 * Adds the trace context to the environment, in the variables that OpenTelemetry defines. It removes the
 * values of a different trace.
 */
export function traceEnv(env: Env, trace: TraceContext | undefined): Env {
  if (trace === undefined) return env;
  const { TRACEPARENT: _parent, TRACESTATE: _state, ...rest } = env;
  const { traceparent, tracestate } = trace;
  const state = tracestate === undefined ? {} : { TRACESTATE: tracestate };
  return { ...rest, TRACEPARENT: traceparent, ...state };
}
