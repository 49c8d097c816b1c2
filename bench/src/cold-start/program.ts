import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A command that is started as a person starts it. */
export interface Program {
  readonly name: string;
  /** What Node is called with. */
  readonly argv: readonly string[];
  /** What is on the screen when one can type; bytes of it come in one piece. */
  readonly prompt: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What is in its home: it is not asked whom it trusts and how it signs in. */
  readonly files?: Readonly<Record<string, string>>;
}

/** What Node alone takes. */
const nothing: Program = {
  name: 'node, which prints a word',
  argv: ['-e', 'process.stdout.write("ready\\n"); setTimeout(() => {}, 200)'],
  prompt: 'ready',
};

const ours = fileURLToPath(new URL('../../../apps/cli/bundle/main.js', import.meta.url));

// The same for all who take it. Nobody is asked anything.
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
    nothing,
    { name: 'millrace, with a key', argv: [ours], prompt, env },
    { name: 'millrace, the demo', argv: [ours], prompt },
    { name: `pi ${pi.version}`, argv: [pi.path, '--offline'], prompt: '%/', env },
    {
      ...{ name: `Gemini CLI ${gemini.version} (Ink)`, argv: [gemini.path], env },
      prompt: 'Type your message',
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
