import { parseArgs } from 'node:util';
import { providerNames } from './find-provider.ts';

interface Arguments {
  readonly question: string;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly baseUrl?: string | undefined;
}

const usage = 'Usage: npm run ask -- [question] [--provider name] [--model name] [--base-url url]';
const names = providerNames.join(', ');

/** Parses the command line. Exits the process after `--help` and after invalid arguments. */
export function readArguments(args: readonly string[]): Arguments {
  const { values, positionals } = parse(args);
  const { provider, model, 'base-url': baseUrl, help } = values;
  if (help) {
    console.log(`${usage}\nProviders: ${names}`);
    process.exit(0);
  }
  if (provider !== undefined && !providerNames.includes(provider)) {
    exitWithError(`There is no provider ${JSON.stringify(provider)}. Use one of ${names}`);
  }
  const question = positionals.join(' ') || 'What is a millrace? Answer in one sentence.';
  return { question, provider, model, baseUrl };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        provider: { type: 'string', short: 'p' },
        model: { type: 'string', short: 'm' },
        'base-url': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    // Node's message has several lines. The first sentence is enough.
    const [reason = ''] = error instanceof Error ? error.message.split(/\.\s|\n/) : [];
    return exitWithError(`${reason}. ${usage}`);
  }
}

function exitWithError(message: string): never {
  console.error(message);
  process.exit(2);
}
