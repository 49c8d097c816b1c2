// Starts real model servers with the tiny model of make-model.py. These are the server of
// llama.cpp, and LiteLLM as a proxy for it. `npm run test:setup -- --models` installs them.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  freePort,
  isRequirementMissing,
} from '../../packages/log/src/testing/external-programs.ts';

const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');

/**
 * The programs of the servers. Each has its own Python virtual environment. They are cached outside
 * of the project.
 */
export const modelServers = {
  llama: {
    path: join(cache, 'millrace', 'llama-server-2026.10.11549'),
    packages: ['xllamacpp==2026.10.11549', 'gguf==0.19.0', 'numpy'],
  },
  litellm: {
    path: join(cache, 'millrace', 'litellm-1.106.2'),
    packages: ['litellm[proxy]==1.106.2'],
  },
} as const;

const folder = import.meta.dirname;
/** Maximum start time, which only prevents hangs. LiteLLM takes half a minute on a busy machine. */
const startTimeoutMs = 180_000;

/**
 * Returns true if the tests must be skipped. In this case, it prints the reason to standard error.
 */
export function isMissing(name: keyof typeof modelServers): boolean {
  const isThere = existsSync(join(modelServers[name].path, 'bin', 'python'));
  const way = 'run npm run test:setup -- --models (Python 3.10 or later on Linux or macOS)';
  return isRequirementMissing(isThere, `${name} is not installed: ${way}`);
}

/** A running server. */
export interface ModelServer {
  /** The URL without a path. */
  readonly url: string;
  /** Kills the server, as in a crash. Resolves when the process has ended. */
  kill(): Promise<void>;
  /** Starts the server again on the same port. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** Options of the llama.cpp server. */
export interface LlamaOptions {
  /** The context size of each slot, in tokens. One byte of a prompt is one token. Default: 8192. */
  readonly contextTokens?: number | undefined;
  readonly apiKey?: string | undefined;
}

/** Starts llama.cpp with two slots, so that it can process two requests at the same time. */
export async function startLlama({
  contextTokens = 8192,
  apiKey,
}: LlamaOptions = {}): Promise<ModelServer> {
  const python = join(modelServers.llama.path, 'bin', 'python');
  const temporary = mkdtempSync(join(tmpdir(), 'millrace-model-'));
  const model = join(temporary, 'millrace-test.gguf');
  const made = spawnSync(python, [join(folder, 'make-model.py'), model], { encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`The model could not be made: ${made.stderr}`);
  const port = await freePort();
  const settings = [`port=${port}`, `n_ctx=${2 * contextTokens}`, 'n_parallel=2'];
  const key = apiKey === undefined ? [] : [`api_keys=${apiKey}`];
  const url = `http://127.0.0.1:${port}`;
  return runServer(url, '/health', {
    start: () => spawn(python, [join(folder, 'llama-server.py'), model, ...settings, ...key]),
    clean: () => rmSync(temporary, { recursive: true, force: true }),
  });
}

/** The key of the LiteLLM proxy. */
export const litellmKey = 'sk-millrace-test';
/** The name of the model in LiteLLM. */
export const litellmModel = 'millrace-test';

/** Starts LiteLLM as a proxy for a llama.cpp server. */
export async function startLitellm(behind: ModelServer): Promise<ModelServer> {
  const temporary = mkdtempSync(join(tmpdir(), 'millrace-litellm-'));
  const config = join(temporary, 'config.yaml');
  const params = { model: `openai/${litellmModel}`, api_base: `${behind.url}/v1`, api_key: 'none' };
  const settings = {
    model_list: [{ model_name: litellmModel, litellm_params: params }],
    general_settings: { master_key: litellmKey },
    litellm_settings: { num_retries: 0, drop_params: true, telemetry: false },
  };
  // The configuration file must be YAML. JSON is valid YAML.
  writeFileSync(config, JSON.stringify(settings));
  const port = await freePort();
  const args = ['--config', config, '--host', '127.0.0.1', '--port', String(port)];
  const env = { ...process.env, LITELLM_MODE: 'PRODUCTION', LITELLM_LOCAL_MODEL_COST_MAP: 'True' };
  return runServer(`http://127.0.0.1:${port}`, '/health/liveliness', {
    start: () => spawn(join(modelServers.litellm.path, 'bin', 'litellm'), args, { env }),
    clean: () => rmSync(temporary, { recursive: true, force: true }),
  });
}

interface ServerProcess {
  readonly start: () => ChildProcess;
  readonly clean: () => void;
}

async function runServer(
  url: string,
  health: string,
  { start, clean }: ServerProcess,
): Promise<ModelServer> {
  let child = start();
  const up = async () => {
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        output = (output + chunk).slice(-4000);
      });
    const deadline = Date.now() + startTimeoutMs;
    for (;;) {
      const isReady = await fetch(`${url}${health}`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (isReady) return;
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error(`The server at ${url} did not start:\n${output}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  process.once('exit', () => child.kill('SIGKILL'));
  await up();
  return {
    url,
    kill,
    restart: async () => {
      await kill();
      child = start();
      await up();
    },
    close: async () => {
      await kill();
      clean();
    },
  };
}
