import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A command to start, in the same way as a user starts it. */
export interface Program {
  readonly name: string;
  /** The arguments of Node. */
  readonly argv: readonly string[];
  /**
   * The text that is on the screen when the user can type. The program must write it in one piece.
   */
  readonly prompt: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Files in the program's home folder. They prevent questions about trust and sign-in. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Node alone. Its time is the lower limit of all others. */
const nodeOnly: Program = {
  name: 'node, printing one word',
  argv: ['-e', 'process.stdout.write("ready\\n"); setTimeout(() => {}, 200)'],
  prompt: 'ready',
};

const ours = fileURLToPath(new URL('../../../apps/cli/bundle/main.js', import.meta.url));

// All programs that accept this key get the same one. No request is sent.
const env = { GEMINI_API_KEY: 'none' };

const geminiSettings = JSON.stringify({
  security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
  general: { enableAutoUpdate: false },
});

export function programs(): readonly [Program, ...Program[]] {
  const pi = installed('@earendil-works/pi-coding-agent', 'pi');
  const gemini = installed('@google/gemini-cli', 'gemini');
  const prompt = 'Say what to do';
  return [
    nodeOnly,
    { name: 'millrace, with a key', argv: [ours], prompt, env },
    // Without a key and without this setting, the program asks which model to use.
    { name: 'millrace, the demo', argv: [ours, '--model', 'demo'], prompt },
    { name: `pi ${pi.version}`, argv: [pi.path, '--offline'], prompt: '%/', env },
    {
      ...{ name: `Gemini CLI ${gemini.version} (Ink)`, argv: [gemini.path], env },
      prompt: 'Type your message',
      files: { '.gemini/settings.json': geminiSettings },
    },
  ];
}

/** The programs that send one message to the server at this address, and end. */
export function requestPrograms(
  url: string,
): readonly Pick<Program, 'name' | 'argv' | 'env' | 'files'>[] {
  const pi = installed('@earendil-works/pi-coding-agent', 'pi');
  const gemini = installed('@google/gemini-cli', 'gemini');
  const baseUrl = `${url}/v1`;
  const models = { ours: { provider: 'compatible', model: 'any', baseUrl } };
  const provider = { baseUrl, api: 'openai-completions', apiKey: 'none', models: [{ id: 'any' }] };
  return [
    {
      ...{ name: 'millrace', argv: [ours, '--model', 'ours', '-p', 'Hi'] },
      files: { '.config/millrace/config.json': JSON.stringify({ models }) },
    },
    {
      ...{ name: `pi ${pi.version}`, env: {} },
      argv: [pi.path, '--offline', '--provider', 'ours', '--model', 'any', '-p', 'Hi'],
      files: { '.pi/agent/models.json': JSON.stringify({ providers: { ours: provider } }) },
    },
    {
      ...{ name: `Gemini CLI ${gemini.version}`, argv: [gemini.path, '-p', 'Hi'] },
      env: { ...env, GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_NO_RELAUNCH: 'true' },
      files: { '.gemini/settings.json': geminiSettings },
    },
  ];
}

function installed(name: string, command: string) {
  const manifest = fileURLToPath(
    new URL(`../../node_modules/${name}/package.json`, import.meta.url),
  );
  const { version, bin } = JSON.parse(readFileSync(manifest, 'utf8')) as {
    readonly version: string;
    readonly bin: Readonly<Record<string, string>>;
  };
  return { version, path: join(dirname(manifest), bin[command] ?? '') };
}
