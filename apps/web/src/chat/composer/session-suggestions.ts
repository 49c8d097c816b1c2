import type { ComposerSuggestions, LiveSource, Suggestion } from '@millrace/react';
import { useSourceValue } from '@millrace/react';
import { useMemo } from 'react';
import { navigate } from '../../app/route.tsx';
import { pageLabels } from '../../languages/page-labels.ts';

interface SessionActions {
  readonly isRunning: boolean;
  readonly stop: () => Promise<unknown>;
}

/**
 * Returns the commands and files that the field for messages of a session offers. The files are those of
 * the session itself. The page does not list files of the server's folder, because everybody who may read
 * a session could then see their names.
 */
export function useSessionSuggestions(
  live: LiveSource,
  { isRunning, stop }: SessionActions,
): ComposerSuggestions {
  const names = useSourceValue(live, fileNames);
  const t = pageLabels();
  const mentions = useMemo(
    () => (names === '' ? [] : names.split('\n').map((name): Suggestion => ({ name }))),
    [names],
  );
  const ignore = (work: Promise<unknown>) => void work.catch(() => {});
  const commands: Suggestion[] = [
    { name: 'new', description: t.keyNew, run: () => navigate({ page: 'new' }) },
    {
      name: 'inspect',
      description: t.inspector,
      run: () => navigate({ page: 'inspect', id: live.id }),
    },
    { name: 'overview', description: t.overview, run: () => navigate({ page: 'overview' }) },
    ...(isRunning ? [{ name: 'stop', description: t.keyStop, run: () => ignore(stop()) }] : []),
  ];
  return { commands, mentions };
}

/**
 * Returns the names of the files in a session as one text, with one name per line. The component
 * renders again only when this text changes. A new array would be a new value each time.
 */
function fileNames(
  source: LiveSource | Parameters<Parameters<typeof useSourceValue>[1]>[0],
): string {
  const names = source.itemIds.flatMap((id) =>
    (source.item(id)?.parts ?? []).flatMap((part) => (part.kind === 'file' ? [part.name] : [])),
  );
  return [...new Set(names)].filter((name) => !/\s/.test(name)).join('\n');
}
