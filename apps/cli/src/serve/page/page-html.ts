export const pageHtml = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Millrace</title>
<link rel="icon" href="/page.svg">
<link rel="stylesheet" href="/page.css">
<script type="module" src="/page.js"></script>
</head>
<body>
<header>
<h1>Millrace</h1>
<p id="state" role="status">connecting …</p>
<a href="/docs">routes</a>
</header>
<form id="token" hidden>
<label>This server wants a token <input name="token" type="password" autocomplete="off" required></label>
<button>Use it</button>
</form>
<main>
<nav>
<h2>Agents</h2>
<ul id="agents"></ul>
<h2>Tasks</h2>
<ul id="tasks"></ul>
</nav>
<section aria-label="Task">
<h2 id="title">Choose an agent to begin a task</h2>
<ol id="messages" aria-live="polite"></ol>
<form id="say" hidden>
<label for="text">Message</label>
<textarea id="text" name="text" rows="2" required></textarea>
<button>Send</button>
<button type="button" id="stop">Stop</button>
</form>
</section>
</main>
<noscript>This page needs JavaScript. The routes do not: see <a href="/docs">/docs</a>.</noscript>
</body>
</html>
`;
