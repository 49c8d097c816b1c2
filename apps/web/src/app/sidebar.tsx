import { useCallback } from 'react';
import { IconButton } from '../design/button.tsx';
import { GridIcon, HelpIcon, MoonIcon, PlusIcon, ScreenIcon, SunIcon } from '../design/icons.tsx';
import { useApp, useDirectory } from './app-context.ts';
import { hasAllTasks } from './directory.ts';
import { findTasks } from './find-tasks.ts';
import { Link } from './link.tsx';
import { Logo } from './logo.tsx';
import type { Route } from './route.ts';
import { TaskList } from './task-list.tsx';
import { useTheme } from './theme.ts';
import type { FindTasks } from './use-found-tasks.ts';
import './sidebar.css';

export interface SidebarProps {
  readonly route: Route;
  readonly hasOverview: boolean;
  readonly onHelp: () => void;
}

const themeWords = { system: 'as the system has it', light: 'light', dark: 'dark' } as const;
const themeIcons = { system: ScreenIcon, light: SunIcon, dark: MoonIcon } as const;

/** Who is there, what there is, and what else can be done. */
export function Sidebar({ route, hasOverview, onHelp }: SidebarProps) {
  const { directory, api } = useApp();
  const known = useDirectory();
  const { tasks, isLoaded, isMore } = known;
  const more = useCallback(() => void directory.more(), [directory]);
  const find = useCallback<FindTasks>((text, signal) => findTasks(api, text, signal), [api]);
  const [theme, nextTheme] = useTheme();
  const ThemeIcon = themeIcons[theme];
  return (
    <nav className="sidebar" id="sessions" aria-label="Sessions">
      <div className="sidebar-head">
        <Link to={{ page: 'new' }} className="brand">
          <Logo /> Millrace
        </Link>
      </div>
      <div className="sidebar-main">
        <Link
          to={{ page: 'new' }}
          className="sidebar-link"
          aria-current={route.page === 'new' ? 'page' : undefined}
        >
          <PlusIcon /> New session
        </Link>
        {hasOverview && (
          <Link
            to={{ page: 'overview' }}
            className="sidebar-link"
            aria-current={route.page === 'overview' ? 'page' : undefined}
          >
            <GridIcon /> Overview
          </Link>
        )}
      </div>
      <TaskList
        tasks={tasks}
        isLoaded={isLoaded}
        isMore={isMore}
        current={route.page === 'task' ? route.id : undefined}
        onMore={more}
        find={hasAllTasks(known) ? undefined : find}
      />
      <div className="sidebar-foot">
        <IconButton label={`Colours: ${themeWords[theme]}`} onClick={nextTheme}>
          <ThemeIcon />
        </IconButton>
        <IconButton label="Keys and help (?)" onClick={onHelp}>
          <HelpIcon />
        </IconButton>
      </div>
    </nav>
  );
}
