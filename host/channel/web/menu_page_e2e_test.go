//go:build e2e

package web_test

import (
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/browsertest"
)

// of finds a message on a page.
func of(id string) string { return `document.querySelector('[data-id="` + id + `"]')` }

// menu opens a message's menu as a click does.
func menu(p *browsertest.Tab, id string) {
	p.Eval(of(id)+`.querySelector(".more").click()`, nil)
	p.Wait(`document.getElementById("menu").open`)
}

// within says that an element is inside the page's window.
func within(t *testing.T, p *browsertest.Tab, id string) {
	t.Helper()
	var ok bool
	p.Eval(`((r) => r.left >= 0 && r.top >= 0 && r.right <= innerWidth && r.bottom <= innerHeight)(document.getElementById("`+id+`").getBoundingClientRect())`, &ok)
	if !ok {
		t.Errorf("%s sticks out of the window", id)
	}
}

func click(p *browsertest.Tab, selector string) {
	p.Eval(`document.querySelector('`+selector+`').click()`, nil)
}

func TestMembersChangeOnlyTheirOwnMessagesFromTheMenu(t *testing.T) {
	s := start(t, options(t.TempDir()))
	ann := s.page(browsertest.Start(t), "/c/family", browsertest.Screen{Width: 360, Height: 740, Dark: true, Phone: true})
	bob := s.page(browsertest.Start(t), "/c/family", desk)
	ann.Write("Thnaks")
	submit(ann)
	bob.Wait(`document.querySelector("#messages .msg .text")?.textContent === "Thnaks"`)
	id := s.history("")[0].ID

	menu(bob, id)
	bob.Wait(`document.getElementById("edit").hidden && document.getElementById("delete").hidden`)
	within(t, bob, "menu")
	bob.Shot("menu-other.png")
	click(bob, "#faces button")
	ann.Wait(of(id) + `.querySelector(".reactions")?.textContent === "👍"`)
	menu(bob, id)
	bob.Wait(`document.querySelector("#faces button").ariaPressed === "true"`)
	click(bob, "#faces button") // the same again takes it back
	ann.Wait(of(id) + `.querySelector(".reactions") === null`)

	ann.Wait(of(id) + `?.querySelector(".more") !== null && document.querySelectorAll("#pending li").length === 0`)
	menu(ann, id)
	within(t, ann, "menu")
	ann.Shot("menu-own.png")
	click(ann, "#edit")
	ann.Wait(`document.getElementById("editdialog").open && document.getElementById("edittext").value === "Thnaks"`)
	within(t, ann, "editdialog")
	ann.Shot("edit.png")
	ann.Eval(`document.getElementById("edittext").value = "Thanks <b>"; document.getElementById("editform").requestSubmit()`, nil)
	for _, p := range []*browsertest.Tab{ann, bob} {
		p.Wait(of(id) + `.querySelector(".text").textContent === "Thanks <b>" && ` + of(id) + `.querySelector(".edited").title !== ""`)
	}
	ann.Wait(`!document.getElementById("editdialog").open`)
	fits(t, ann)

	menu(ann, id)
	ann.Wait(`document.getElementById("menutime").textContent.includes(", edited ")`)
	click(ann, "#delete")
	ann.Wait(`document.getElementById("deletedialog").open`)
	within(t, ann, "deletedialog")
	ann.Shot("delete.png")
	click(ann, "#deletedialog [value=cancel]")
	ann.Wait(`!document.getElementById("deletedialog").open`)
	menu(ann, id)
	click(ann, "#delete")
	click(ann, "#deletedialog [value=delete]")
	for _, p := range []*browsertest.Tab{ann, bob} {
		p.Wait(of(id) + `.querySelector(".gone") !== null && ` + of(id) + `.querySelector(".more") === null`)
	}
	var kinds []channel.Kind
	for _, a := range s.did(4) {
		kinds = append(kinds, a.Kind)
	}
	if len(kinds) != 4 || kinds[2] != channel.KindEdit || kinds[3] != channel.KindDeletion {
		t.Errorf("the host got %v", kinds)
	}
}

func TestARefusedEditOrEmojiIsNotLostAndSaysWhy(t *testing.T) {
	s := start(t, options(t.TempDir()))
	p := s.page(browsertest.Start(t), "/c/family", phone)
	p.Write("hello")
	submit(p)
	p.Wait(ownTexts + ` === "hello" && !document.querySelector("#pending li")`)
	id := s.history("")[0].ID
	menu(p, id)
	click(p, "#edit")
	p.Eval(`document.getElementById("edittext").value = " "; document.getElementById("editform").requestSubmit()`, nil)
	p.Wait(`document.getElementById("editdialog").open && document.getElementById("editproblem").textContent.startsWith("Not saved: there is nothing left of the message")`)
	within(t, p, "editdialog")
	click(p, "#editcancel")
	menu(p, id)
	p.Wait(`document.getElementById("menu").open && !document.getElementById("editdialog").open`)
	p.Eval(`document.getElementById("emoji").value = "buy"; document.getElementById("emojiform").requestSubmit()`, nil)
	p.Wait(`document.getElementById("notice").textContent.startsWith("Not done: that is not one emoji")`)
	menu(p, id)
	p.Eval(`document.getElementById("emoji").value = " 🦆 "; document.getElementById("emojiform").requestSubmit()`, nil)
	p.Wait(of(id) + `.querySelector(".reactions")?.textContent === "🦆" && document.getElementById("notice").hidden`)
	menu(p, id) // one's own emoji stands first, to be taken back
	p.Wait(`document.querySelectorAll("#faces button").length === 7 && document.querySelector("#faces button").ariaLabel === "Take 🦆 back"`)
	fits(t, p)
	if m := s.history("")[0]; m.Text != "hello" || m.Edited {
		t.Errorf("the message is %+v", m)
	}
}

func TestTheMenuWorksByKeyboardAlone(t *testing.T) {
	s := start(t, options(t.TempDir()))
	p := s.page(browsertest.Start(t), "/c/family", browsertest.Screen{Width: 1200, Height: 820, Dark: true})
	p.Write("helo")
	p.Enter()
	p.Wait(ownTexts + ` === "helo" && !document.querySelector("#pending li")`)
	id := s.history("")[0].ID
	at := func(what string) { p.Wait(`document.activeElement === ` + what) }
	by := func(id string) string { return `document.getElementById("` + id + `")` }
	more := of(id) + `.querySelector(".more")`
	p.Eval(more+`.focus()`, nil)
	p.Enter()
	at(`document.querySelector("#faces button")`)
	p.Shot("menu-dark.png")
	p.Key("Escape", 27)
	at(more)
	p.Enter()
	at(`document.querySelector("#faces button")`)
	p.Enter() // the message is built anew, and the focus stays
	p.Wait(of(id) + `.querySelector(".reactions")?.textContent === "👍"`)
	at(more)
	p.Enter()
	for range 8 { // five more emojis, the field, its button, Edit
		p.Key("Tab", 9)
	}
	at(by("edit"))
	p.Enter()
	at(by("edittext"))
	p.Eval(`document.getElementById("edittext").select()`, nil)
	p.Write("hello")
	p.Enter()
	p.Wait(ownTexts + ` === "hello" && !document.getElementById("editdialog").open`)
	at(more)
	p.Enter()
	p.Wait(by("menu") + `.open`)
	// The message changes while its menu is open.
	seen := to(id)
	seen.Emoji = "👀"
	s.must(s.React(t.Context(), seen))
	p.Wait(of(id) + `.querySelectorAll(".reactions > *").length === 2`)
	p.Key("Escape", 27)
	at(more)
}
