import { type ReactElement, useEffect, useMemo, useState } from 'react';
import type { HistoryEntry } from '../../input/editor-state.ts';
import { FileList } from '../../input/file-list.ts';
import { workspaceFiles } from '../../input/workspace-files.ts';
import { commandTable } from '../commands/command-table.ts';
import type { ChatApp } from './chat-app.ts';
import { ChatScreen } from './chat-screen.tsx';

export interface ChatRootProps {
  readonly app: ChatApp;
  readonly history: readonly HistoryEntry[];
  readonly onSent: (entry: HistoryEntry) => void;
}

/** The screen with what can be completed in it: commands, and the folder's files as they are found. */
export function ChatRoot({ app, history, onSent }: ChatRootProps): ReactElement {
  const [files, setFiles] = useState<readonly string[]>([]);
  const { cwd, env, clock } = app;
  const fileList = useMemo(
    () =>
      new FileList({
        list: (signal) => workspaceFiles({ cwd, env, signal }),
        onChange: setFiles,
        clock,
      }),
    [cwd, env, clock],
  );
  useEffect(() => () => fileList.close(), [fileList]);
  const sources = useMemo(() => ({ files, commands: commandsOf(app) }), [files, app]);
  const onFilesWanted = () => void fileList.refresh();
  return <ChatScreen {...{ app, sources, history, onSent, onFilesWanted }} />;
}

function commandsOf(app: ChatApp) {
  return commandTable.map(({ name, description, argument, choices }) => ({
    name,
    description,
    ...(choices !== undefined && { choices: () => choices(app) }),
    // What may be left out need not be waited for.
    takesText: argument !== undefined && !argument.startsWith('['),
  }));
}
