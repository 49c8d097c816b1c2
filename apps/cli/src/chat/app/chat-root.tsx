import { type ReactElement, useEffect, useMemo, useState } from 'react';
import type { HistoryEntry } from '../../input/editor-state.ts';
import { FileList } from '../../input/file-list.ts';
import { maxWorkspaceFiles, workspaceFiles } from '../../input/workspace-files.ts';
import { commandTable } from '../commands/command-table.ts';
import { note } from '../state/block.ts';
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
        onChange: (found) => {
          setFiles(found);
          if (found.length >= maxWorkspaceFiles) tellTooMany(app);
        },
        clock,
      }),
    [app, cwd, env, clock],
  );
  useEffect(() => () => fileList.close(), [fileList]);
  const sources = useMemo(() => ({ files, commands: commandsOf(app) }), [files, app]);
  const onFilesWanted = () => void fileList.refresh();
  return <ChatScreen {...{ app, sources, history, onSent, onFilesWanted }} />;
}

const told = new WeakSet<ChatApp>();

function tellTooMany(app: ChatApp): void {
  if (told.has(app)) return;
  told.add(app);
  const most = maxWorkspaceFiles.toLocaleString('en');
  app.print(note('mark', `There are more than ${most} files here: @ finds those alone.`));
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
