import { useListedTask } from '../../app/app-context.ts';
import { Link } from '../../app/link.tsx';

/**
 * The session in which a sub-agent works. It leads there where the server has it as a task; the log alone
 * may have it, and then there is no page of it.
 */
export function ChildSession({ id }: { readonly id: string }) {
  const task = useListedTask(id);
  const name = <code>{id}</code>;
  return (
    <p className="tool-words">
      Session of the sub-agent:{' '}
      {task === undefined ? name : <Link to={{ page: 'task', id }}>{name}</Link>}
    </p>
  );
}
