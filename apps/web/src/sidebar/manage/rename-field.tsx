import { errorText } from '@millrace/react';
import { type FormEvent, useRef, useState } from 'react';
import { useApp } from '../../app/app-context.ts';
import { taskTitle } from '../../app/task-text.ts';
import { pageLabels } from '../../languages/page-labels.ts';
import type { ListedTask } from '../../server/directory.ts';
import { changeTasks, maxNameLength } from './task-actions.ts';

export interface RenameFieldProps {
  readonly task: ListedTask;
  /** Called when the field closes. `byKey` is true if the user closed it with a key. */
  readonly onDone: (byKey: boolean) => void;
}

/**
 * A text field that replaces a session's title. Enter stores the new title, and Escape keeps the
 * old one.
 */
export function RenameField({ task, onDone }: RenameFieldProps) {
  const t = pageLabels();
  const app = useApp();
  const [title, setTitle] = useState(taskTitle(task));
  const [error, setError] = useState<string>();
  // Enter stores the title and closes the field. The field then loses the focus, which would store
  // the title again.
  const isEnding = useRef(false);
  const store = async (byKey: boolean) => {
    const trimmed = title.trim();
    if (isEnding.current) return;
    isEnding.current = true;
    try {
      if (trimmed !== '' && trimmed !== taskTitle(task))
        await changeTasks(app, [task.id], { title: trimmed });
      onDone(byKey);
    } catch (reason) {
      isEnding.current = false;
      setError(errorText(reason, t));
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void store(true);
  };
  return (
    <form className="rename-field" onSubmit={submit}>
      <input
        aria-label={t.title}
        aria-invalid={error !== undefined}
        maxLength={maxNameLength}
        value={title}
        // biome-ignore lint/a11y/noAutofocus: the user asked to edit exactly this field
        autoFocus
        onFocus={({ target }) => target.select()}
        onChange={({ target }) => setTitle(target.value)}
        onBlur={() => void store(false)}
        onKeyDown={(event) => {
          event.stopPropagation();
          if (event.key !== 'Escape') return;
          isEnding.current = true;
          onDone(true);
        }}
      />
      {error !== undefined && <p role="alert">{error}</p>}
    </form>
  );
}
