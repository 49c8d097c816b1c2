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

/** What was asked for on the command line. Ends the process for what cannot be meant, and for `--help`. */
export function readArguments(args: readonly string[]): Arguments {
  const { values, positionals } = parsed(args);
  const { provider, model, 'base-url': baseUrl, help } = values;
  if (help) {
    console.log(`${usage}\nProviders: ${names}`);
    process.exit(0);
  }
  if (provider !== undefined && !providerNames.includes(provider)) {
    refuse(`There is no provider ${JSON.stringify(provider)}. Use one of ${names}`);
  }
  const question = positionals.join(' ') || 'In two sentences: what is a millrace?';
  return { question, provider, model, baseUrl };
}

function parsed(args: readonly string[]) {
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
    // Node goes on to explain, over several lines, what nobody asked.
    const [why = ''] = error instanceof Error ? error.message.split(/\.\s|\n/) : [];
    return refuse(`${why}. ${usage}`);
  }
}

function refuse(why: string): never {
  console.error(why);
  process.exit(2);
}
