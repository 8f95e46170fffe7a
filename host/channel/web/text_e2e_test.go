//go:build e2e

package web_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/browsertest"
)

// TestMarkdownIsShownAsItIsMeant shows the answer whose forms on other platforms are the
// golden files of package markup.
func TestMarkdownIsShownAsItIsMeant(t *testing.T) {
	answer, err := os.ReadFile("../markup/testdata/answer.md")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, options(t.TempDir()))
	s.say("Send me the **report**, please:\n- ships\n- tons\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n> quoted\n```\nls -l\n```")
	s.send(channel.Message{Text: string(answer)})
	if m := s.history("")[1]; m.Text != string(answer) {
		t.Errorf("the history has %q", m.Text)
	}
	c := browsertest.Start(t)
	for name, view := range map[string]browsertest.Screen{
		"markdown-desk.png": {Width: 1200, Height: 1370}, "markdown-phone.png": phone,
		"markdown-desk-dark.png":  {Width: 1200, Height: 1500, Dark: true},
		"markdown-phone-dark.png": {Width: 360, Height: 1700, Dark: true, Phone: true},
	} {
		p := c.Open(s.at("/c/family"), view)
		p.Wait(`document.querySelectorAll("#messages .msg").length === 2`)
		fits(t, p)
		p.Shot(name)
	}
	p := c.Open(s.at("/c/family"), desk)
	p.Wait(`document.querySelectorAll("#messages .msg").length === 2`)
	var got map[string]any
	p.Eval(`((q) => ({
		headings: q("h3, h4").join(), bold: q("strong").join(), items: q("ul > li").length, tasks: q(".task [role=img]").join(), numbers: q("ol > li").join(),
		quote: q("blockquote").length, code: q("pre code").join(), head: q("th").join(), cells: q("td.right").join(), rules: q("hr").length,
		links: [...document.querySelectorAll("#messages .msg:last-child .text a")].map((a) => a.href + " " + a.rel).join("\n"), images: document.querySelectorAll("#messages img").length,
	}))((css) => [...document.querySelectorAll(css)].filter((n) => n.closest("#messages .msg:last-child .text")).map((n) => n.textContent))`, &got)
	want := map[string]any{
		"headings": "Report for week 12,What changed", "bold": "summary,12 %,bold", "items": 6.0, "tasks": "☑,☐", "numbers": "First,Second with code,Third",
		"quote": 1.0, "code": "uv run plot.py --weeks 12\n  echo \"a*b*c _d_ <e> & f\"", "head": "Week,Ships,Tons", "cells": "12,340,103,2100", "rules": 1.0, "images": 0.0,
		"links": "https://example.org/port?a=1&b=2 noopener noreferrer\nhttps://example.org/ noopener noreferrer\nhttps://example.org/snake_case_/x noopener noreferrer\n" +
			"mailto:ann@example.org noopener noreferrer\nhttps://tracker.example/pixel.png noopener noreferrer",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	p.Eval(`document.querySelector(".msg:last-child .copy").click()`, nil)
	p.Wait(`document.querySelector(".msg:last-child .copy").textContent === "Copied"`)
}

func TestBulletsAndQuotesStandWhereTheWordsBegin(t *testing.T) {
	s := start(t, options(t.TempDir()))
	s.send(channel.Message{Text: "- عنصر\n  - ثان\n\n> اقتباس\n\n1. رقم\n   ```\n   ls -l\n   ```\n\ntext\n\n* left"})
	p := browsertest.Start(t).Open(s.at("/c/family"), desk)
	p.Wait(`document.querySelectorAll("#messages .msg").length === 1`)
	var got []string
	p.Eval(`[...document.querySelectorAll(".text :is(ul, ol, blockquote, pre)")].map((n) => n.tagName + " " + getComputedStyle(n).direction)`, &got)
	if diff := cmp.Diff([]string{"UL rtl", "UL rtl", "BLOCKQUOTE rtl", "OL rtl", "PRE ltr", "UL ltr"}, got); diff != "" {
		t.Error(diff)
	}
}
