import type { Client } from '@millrace/client';
import { type ReactNode, useMemo } from 'react';
import { MillraceContext, type MillraceContextValue } from './context.ts';
import type { Labels } from './labels/labels.ts';
import { LabelsContext, useLabels } from './labels/use-labels.ts';
import { sourcesOf } from './session/task-session.ts';
import './design/tokens.css';
import './design/base.css';
import './design/root.css';

/** The properties of `MillraceRoot`. */
export interface MillraceRootProps
  extends Omit<MillraceContextValue, 'sources' | 'isInRoot' | 'isReadOnly'> {
  /** The client, for components that open further sessions. Default: none. */
  readonly client?: Client | undefined;
  /** The theme. Default: the theme of the operating system. */
  readonly theme?: 'light' | 'dark' | undefined;
  /** The density of the content on the screen. Default: `roomy`. */
  readonly density?: 'roomy' | 'compact' | undefined;
  /**
   * The texts of the components in one language, such as `german` of `@millrace/react/labels/de`.
   * Default: the labels of a root around this one, otherwise English.
   */
  readonly labels?: Labels | undefined;
  readonly children: ReactNode;
}

/**
 * The element around the components of this package. It has the colors and sizes, and gives the
 * components what they need of the application.
 */
export function MillraceRoot(props: MillraceRootProps) {
  const { client, theme, density, SessionLink, momentUrl, framesUrl, children } = props;
  const outer = useLabels();
  const labels = props.labels ?? outer;
  const context = useMemo(
    () => ({
      ...{ sources: client && sourcesOf(client), SessionLink, momentUrl, framesUrl },
      isInRoot: true,
    }),
    [client, SessionLink, momentUrl, framesUrl],
  );
  return (
    <MillraceContext value={context}>
      <LabelsContext value={labels}>
        <div
          className="millrace"
          lang={labels.locale}
          dir={labels.direction}
          data-theme={theme}
          data-density={density}
        >
          {children}
        </div>
      </LabelsContext>
    </MillraceContext>
  );
}
