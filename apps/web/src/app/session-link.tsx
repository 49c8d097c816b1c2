import type { MillraceContextValue, SessionLinkProps } from '@millrace/react';
import { withBase } from '../server/base-path.ts';
import { useListedTask } from './app-context.ts';
import { hrefOf, Link } from './route.tsx';

/**
 * A link to a session, such as that of a sub-agent. It is a link only if the server returns this
 * session, because a user with limited rights cannot read it.
 */
export function SessionLink({ id, view, children }: SessionLinkProps) {
  const task = useListedTask(id);
  if (view === 'inspector') return <Link to={{ page: 'inspect', id }}>{children}</Link>;
  return task === undefined ? children : <Link to={{ page: 'task', id }}>{children}</Link>;
}

/** The functions and components of this page that the components of `@millrace/react` use. */
export const pageContext: MillraceContextValue = {
  SessionLink,
  momentUrl: (id, at) => hrefOf({ page: 'task', id, at }),
  framesUrl: withBase('/frames/'),
};
