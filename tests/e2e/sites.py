"""The pages on which an agent is stuck and a person is not: a sign-in with a code, one by a window, a puzzle that is dragged."""

from __future__ import annotations

FORM = """<!doctype html><title>login</title><style>body{margin:0;font:20px sans-serif}
input,button,select{position:absolute;width:300px;height:40px;left:20px}</style>
<input id=user style=top:20px><input id=word type=password style=top:80px><button id=go style=top:140px>Sign in</button>
<button id=ask style=top:200px onclick="document.title=confirm('Sure?')?'sure':'unsure'">Ask</button>
<select id=pick style=top:260px onchange="document.title='picked '+value"><option>one<option>two<option>three</select>
<input id=file type=file style=top:320px onchange="document.title='file '+files[0].name+' '+files[0].size">
<script>go.onclick=()=>{if(user.value&&word.value==='s3cret')location='/code.html'}</script>"""
CODE = """<!doctype html><title>code</title><body style=margin:0><input id=code style="position:absolute;left:20px;top:20px;width:300px;height:40px">
<script>code.oninput=()=>{if(code.value==='123456'){document.cookie='login=yes; max-age=86400; path=/';document.title='signed in'}}</script>"""
OPENER = """<!doctype html><title>opener</title><body style=margin:0><button style="position:absolute;left:20px;top:20px;width:300px;height:40px"
onclick="window.open('/window.html','w','width=500,height=400')">Sign in with a window</button>"""
WINDOW = """<!doctype html><title>window</title><body style=margin:0><button style="position:absolute;left:20px;top:20px;width:300px;height:40px"
onclick="opener.document.title='by window';window.close()">Allow</button>"""
PUZZLE = """<!doctype html><title>puzzle</title><body style=margin:0><div id=knob
style="position:absolute;left:20px;top:20px;width:60px;height:60px;background:#06c"></div>
<script>let from=null,seen=0;knob.onpointerdown=e=>{from=e.clientX;knob.setPointerCapture(e.pointerId)};
knob.onpointermove=e=>{if(from!==null){seen++;knob.style.left=20+e.clientX-from+'px'}};
knob.onpointerup=e=>{const at=parseInt(knob.style.left);document.title=Math.abs(at-220)<4&&seen>5?'solved':'missed '+at+' '+seen;from=null}</script>"""

SITES = {"login": FORM, "code": CODE, "opener": OPENER, "window": WINDOW, "puzzle": PUZZLE}
